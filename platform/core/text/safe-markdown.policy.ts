/**
 * Makes untrusted Markdown safe: model output about material of other people (DEC-55), and the text of members (DEC-148). An image becomes
 * a link. Raw HTML becomes text, and so does a link to anything except a web or mail address. Code that every renderer reads as code stays
 * unchanged.
 *
 * The output depends only on the text, never on how a stream splits it. Undecided text is held back.
 */
import { withoutEnd } from './ends.policy.ts';
import { judgeAddress, type Judgement } from './link-address.policy.ts';

export interface MarkdownStripper {
  push(chunk: string): string;
  /** Ends the text. */
  end(): string;
  /** Whether any link `[…](…)` had a forbidden address. */
  cutsLinks(): boolean;
}

export interface StripperOptions {
  /**
   * The images that do not become links: none, files of the club's library (`media:<id>`), or also pictures of the web. `library` and `web`
   * need the whole text in one chunk.
   */
  images?: 'none' | 'library' | 'web';
}

interface Taken {
  length: number;
  text: string;
}
/** More text is needed. */
const undecided = undefined;

interface Fence {
  mark: string;
  column: number;
}

/** At the beginning of a line, also after list and quote markers. */
const fenceAnywhere = /^([\s>*+\-\d.)]*)(`{3,}|~{3,})/;
const maybeFence = /^[\s>*+\-\d.)]*[`~]{0,2}$/;
const fenceOfDocument = /^(?:`{3,}[^`]*|~{3,}[^`~]*)$/;
/** A word with one of these characters may be an address, and an address may contain a backtick. */
const ofAddress = /[:./@<\\]/;
const special = /[!<`\]\n\\]/g;
const keptImages = {
  none: undefined,
  library: /^!\[[^[\]`<\\\n]{0,500}\]\(media:[0-9a-f-]{36}[)\s]/i,
  web: /^!\[[^[\]`<\\\n]{0,500}\]\((?:media:[0-9a-f-]{36}|https?:\/\/[^\s()<>`\\]{1,2000})[)\s]/i,
};
const longestImage = 2_600;

/**
 * If renderers disagree about what is code, no text counts as code: after `doubt` until the end, after `paragraphDoubt` until the next
 * blank line.
 */
export function createMarkdownStripper({ images = 'none' }: StripperOptions = {}): MarkdownStripper {
  let rest = '';
  let endsInReturn = false;
  let isLineStart = true;
  /** After an address, a backtick does not begin a code span. */
  let mayBeAddress = false;
  /** Caches the end of the line, so that a long line is searched only once. */
  let lineEnd: number | undefined;
  let fence: Fence | undefined;
  let nested: Fence | undefined;
  let doubt = false;
  let paragraphDoubt = false;
  /** Some renderers read the line after `[label]:` as the address, whatever it contains. */
  let definesLabel = false;
  let hasCutLink = false;

  function drain(isEnd: boolean): string {
    let [at, out] = [0, ''];
    while (at < rest.length) {
      const begins = isLineStart;
      const piece = begins ? lineStart(at, isEnd) : inline(at, isEnd);
      if (piece === undecided) break;
      if (piece.length === 0 && begins === isLineStart) throw new Error('The index did not advance'); // or the loop may never end
      // Stryker disable next-line AssignmentOperator: the loop never ends if the index goes back
      at += piece.length;
      out += piece.text;
    }
    rest = rest.slice(at);
    lineEnd = undefined;
    return out;
  }

  /** Consumes the whole line if it is blank, a fence or code; otherwise no character. */
  function lineStart(at: number, isEnd: boolean): Taken | undefined {
    const end = rest.indexOf('\n', at);
    const isWhole = end !== -1 || isEnd;
    const read = rest.slice(at, end === -1 ? undefined : end);
    const found = fenceAnywhere.exec(read);
    if (!isWhole && (fence || found || maybeFence.test(read))) return undecided;
    const text = end === -1 ? read : `${read}\n`;
    if (fence) {
      readFenced(fence, read);
      return { length: text.length, text };
    }
    if (/^[ \t]*$/.test(read)) {
      paragraphDoubt = definesLabel = false;
      return { length: text.length, text };
    }
    if (found) readFence(read, found[1] ?? '', found[2] ?? '');
    else if (nested && indentOf(read) < nested.column) doubt = true;
    isLineStart = false;
    mayBeAddress = false;
    return { length: 0, text: '' };
  }

  function readFenced({ mark }: Fence, read: string): void {
    if (closesFence(read, mark)) {
      fence = undefined;
      paragraphDoubt = false;
    } else if (read.trim().startsWith(mark) && /^[`~\s]*$/.test(read)) {
      // Some renderers end the code block at this line.
      fence = undefined;
      doubt = true;
    }
  }

  function readFence(read: string, before: string, mark: string): void {
    if (definesLabel) doubt = true;
    else if (nested) {
      const isClosing = before.length === nested.column && /^ *$/.test(before) && mark.startsWith(nested.mark);
      if (isClosing && read.slice(before.length + mark.length).trim() === '') nested = undefined;
      else doubt = true;
    } else if (before === '') {
      if (fenceOfDocument.test(read)) {
        if (!doubt) fence = { mark, column: 0 };
      } else doubt ||= mark.startsWith('~');
    } else if (/[>\t]/.test(before)) doubt = true;
    else nested = { mark, column: before.length };
    paragraphDoubt = true; // the fence mark does not begin a code span
  }

  function inline(at: number, isEnd: boolean): Taken | undefined {
    special.lastIndex = at;
    const next = special.exec(rest)?.index ?? rest.length;
    const piece = next > at ? { length: next - at, text: rest.slice(at, next) } : decideMark(at, isEnd);
    if (piece) readWord(rest.slice(at, at + piece.length));
    return piece;
  }

  function readWord(piece: string): void {
    let wordStart = piece.length;
    while (wordStart > 0 && !/\s/.test(piece.charAt(wordStart - 1))) wordStart -= 1;
    mayBeAddress = (wordStart === 0 && mayBeAddress) || ofAddress.test(piece.slice(wordStart));
  }

  /** Decides the output for one character with a special meaning. */
  function decideMark(at: number, isEnd: boolean): Taken | undefined {
    const character = rest.charAt(at);
    if (character === '\n') {
      isLineStart = true;
      return { length: 1, text: '\n' };
    }
    if (character === '`') return backticks(at, isEnd);
    if (at + 1 === rest.length && !isEnd) return undecided;
    const following = rest.charAt(at + 1);
    if (character === '!') return { length: 1, text: following === '[' && !isKeptImage(at) ? '! ' : '!' };
    if (character === '<') return angle(at, following, isEnd);
    if (character === ']') return closingBracket(at, following, isEnd);
    if (following === '\\' || following === '`') {
      paragraphDoubt ||= following === '`';
      return { length: 2, text: character + following };
    }
    return { length: 1, text: following === '<' ? '' : character }; // drops a backslash before `<`, because `<` itself is turned into text
  }

  function isKeptImage(at: number): boolean {
    return keptImages[images]?.test(rest.slice(at, at + longestImage)) ?? false;
  }

  /** An address or a label may follow the bracket. If the address is bad, the bracket or colon is written as text. */
  function closingBracket(at: number, following: string, isEnd: boolean): Taken | undefined {
    const leadsSomewhere = following === '(' || following === ':';
    const judgement: Judgement = leadsSomewhere ? judgeAddress(rest, at + 2, isEnd, images !== 'none') : 'good';
    if (judgement === 'undecided') return undecided;
    if (/[([:]/.test(following)) paragraphDoubt = true;
    definesLabel ||= following === ':';
    if (judgement === 'good') return { length: 1, text: ']' };
    hasCutLink ||= following === '(';
    return { length: 2, text: following === '(' ? ']&#40;' : ']&#58;' };
  }

  /** Anything that could begin a tag, a comment or a declaration becomes text; `<https://…>` is an address. */
  function angle(at: number, following: string, isEnd: boolean): Taken | undefined {
    if (!/[a-z/!?]/i.test(following)) return { length: 1, text: '<' };
    const begins = rest.slice(at + 1, at + 9).toLowerCase();
    const addresses = ['https://', 'http://'];
    if (!isEnd && begins.length < 8 && addresses.some((address) => address.startsWith(begins))) return undecided;
    if (!addresses.some((address) => begins.startsWith(address))) return { length: 1, text: '&lt;' };
    paragraphDoubt = true; // the address may contain a backtick
    return { length: 1, text: '<' };
  }

  /** A code span on one line stays unchanged. After any other backtick, the code in the paragraph is in doubt. */
  function backticks(at: number, isEnd: boolean): Taken | undefined {
    if (lineEnd === undefined || (lineEnd !== -1 && lineEnd < at)) lineEnd = rest.indexOf('\n', at);
    const read = rest.slice(at, lineEnd === -1 ? undefined : lineEnd);
    const isWhole = lineEnd !== -1 || isEnd;
    const [opening = ''] = /^`+/.exec(read) ?? [];
    if (opening.length === read.length && !isWhole) return undecided;
    if (!doubt && !nested && !paragraphDoubt && !mayBeAddress) {
      for (const { 0: closing, index } of read.matchAll(/`+/g)) {
        const spanEnd = index + closing.length;
        if (spanEnd === read.length && !isWhole) return undecided;
        if (index === 0 || closing.length !== opening.length) continue;
        const span = read.slice(0, spanEnd);
        if (span.includes('|')) break; // renderers divide a line of a table into cells before they look for code
        return { length: spanEnd, text: span };
      }
      if (!isWhole) return undecided;
    }
    paragraphDoubt = true;
    return { length: opening.length, text: opening };
  }

  function normalized(chunk: string): string {
    const text = endsInReturn && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
    if (chunk !== '') endsInReturn = chunk.endsWith('\r');
    return text.replace(/\r\n?/g, '\n');
  }

  return {
    push(chunk) {
      rest += normalized(chunk);
      return drain(false);
    },
    end: () => drain(true),
    cutsLinks: () => hasCutLink,
  };
}

const indentOf = (read: string): number => read.length - read.trimStart().length;

/** At most three spaces, the fence mark or more of its characters, and then only spaces. */
export function closesFence(read: string, mark: string): boolean {
  const [indent = ''] = /^ {0,3}/.exec(read) ?? [];
  const fence = withoutEnd(read.slice(indent.length), ' ');
  return fence.startsWith(mark) && withoutEnd(fence, mark.charAt(0)) === '';
}
