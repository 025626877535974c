/** Signs of Markdown in a text that does not say what it is: a heading, a fence of code, or a link. Found in one pass. */

const lineSign = /^(?:#{1,6} \S|```|~~~)/m;
const longestLabel = 200;
const longestAddress = 500;

export function hasSignOfMarkdown(text: string): boolean {
  return lineSign.test(text) || hasLink(text);
}

/** Whether it holds `[label](address)` on one line, whose label has no `]` and whose address no white space. */
function hasLink(text: string): boolean {
  /** Where no address that begins before it goes on: it is looked for once for all of them. */
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

/** Looks back no further than to the `]` before, so each character is looked at once. */
function hasLabelBefore(text: string, end: number): boolean {
  for (let at = end - 1; at >= 0 && end - at <= longestLabel + 1; at--) {
    const character = text[at];
    if (character === ']' || character === '\n') return false;
    if (character === '[' && end - at >= 2) return true;
  }
  return false;
}

/** @returns where the first `)` or white space stands; the end of the text if there is none */
function endOfAddress(text: string, start: number): number {
  closing.lastIndex = start;
  return closing.exec(text)?.index ?? text.length;
}

const closing = /[)\s]/g;
