/** Detects whether a text of unknown type is Markdown: by a heading, a code fence or a link. The text is read only once. */

const lineSign = /^(?:#{1,6} \S|```|~~~)/m;
const longestLabel = 200;
const longestAddress = 500;

export function hasSignOfMarkdown(text: string): boolean {
  return lineSign.test(text) || hasLink(text);
}

/** Whether the text has `[label](address)` on one line. The label has no `]` and the address no white space. */
function hasLink(text: string): boolean {
  /** The end of the last address. A later address that begins before it has this end too, so the text is not searched again. */
  let end = -1;
  for (let at = text.indexOf(']('); at >= 0; at = text.indexOf('](', at + 1)) {
    const start = at + 2;
    if (!hasLabelBefore(text, at)) continue;
    if (end < start) end = endOfAddress(text, start);
    const length = end - start;
    if (text[end] === ')' && length >= 1 && length <= longestAddress) return true;
  }
  return false;
}

/** Searches backwards for `[`, at most to the previous `]`, so that each character is read only once. */
function hasLabelBefore(text: string, end: number): boolean {
  for (let at = end - 1; at >= 0 && end - at <= longestLabel + 1; at--) {
    const character = text[at];
    if (character === ']' || character === '\n') return false;
    if (character === '[' && end - at >= 2) return true;
  }
  return false;
}

/** @returns the position of the first `)` or white space; if neither follows, the end of the text */
function endOfAddress(text: string, start: number): number {
  closing.lastIndex = start;
  return closing.exec(text)?.index ?? text.length;
}

const closing = /[)\s]/g;
