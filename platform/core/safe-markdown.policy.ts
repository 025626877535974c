/**
 * Markdown that nobody has to trust: what a model wrote from material of others (DEC-55), and what members write (DEC-148). An image
 * becomes a link, raw HTML becomes text, and so does a link that leads elsewhere than to a web or mail address. Code that every
 * renderer reads as code stays as it is.
 *
 * The decision about a character depends on the text alone, never on how a stream cuts it: what needs more text is held back.
 */
import { withoutEnd } from './ends.policy.ts';
import { judgeAddress, type Judgement } from './link-address.policy.ts';

export interface MarkdownStripper {
  /** @returns what of the text so far is decided; may be empty */
  push(chunk: string): string;
  /** The text is over. @returns what was held back */
  end(): string;
  /** Whether a link so far, `[…](…)`, had an address that it may not have. */
  cutsLinks(): boolean;
}

export interface StripperOptions {
  /** The images that stay images: none, files of the club's library (`media:<id>`), or these and pictures of the web. Others than none need the whole text in one chunk. */
  images?: 'none' | 'library' | 'web';
}

/** A piece that is decided: how many characters of the input it takes, and what is written for it. */
interface Taken {
  length: number;
  text: string;
}
/** More text is needed to decide. */
const undecided = undefined;

interface Fence {
  mark: string;
  column: number;
}

/** Code fences as they begin lines: behind markers of lists and quotes, too. */
const fenceAnywhere = /^([\s>*+\-\d.)]*)(`{3,}|~{3,})/;
const maybeFence = /^[\s>*+\-\d.)]*[`~]{0,2}$/;
const fenceOfDocument = /^(?:`{3,}[^`]*|~{3,}[^`~]*)$/;
/** A word with one of these may be an address, of which a backtick can be a part. */
const ofAddress = /[:./@<\\]/;
const special = /[!<`\]\n\\]/g;
/** An image whose address follows its words directly. Any other form of an image becomes a link. */
const keptImages = {
  none: undefined,
  library: /^!\[[^[\]`<\\\n]{0,500}\]\(media:[0-9a-f-]{36}[)\s]/i,
  web: /^!\[[^[\]`<\\\n]{0,500}\]\((?:media:[0-9a-f-]{36}|https?:\/\/[^\s()<>`\\]{1,2000})[)\s]/i,
};
/** More than any of `keptImages` is long. */
const longestImage = 2_600;

/**
 * Where renderers could disagree on what is code, nothing counts as code: `doubt` lasts to the end of the text, `paragraphDoubt` to
 * the next blank line. What does not count as code is changed, also where a renderer then shows it as code.
 */
export function createMarkdownStripper({ images = 'none' }: StripperOptions = {}): MarkdownStripper {
  let rest = '';
  let endsInReturn = false;
  let isLineStart = true;
  /** Whether the word so far may be an address. A backtick behind it is then no code span. */
  let mayBeAddress = false;
  /** The end of the line that was looked for last, so that a long line is searched once. */
  let lineEnd: number | undefined;
  let fence: Fence | undefined;
  let nested: Fence | undefined;
  let doubt = false;
  let paragraphDoubt = false;
  /** The paragraph may define the address of a label: some renderers take the next line for it, whatever it is. */
  let definesLabel = false;
  let hasCutLink = false;

  function drain(isEnd: boolean): string {
    let [at, out] = [0, ''];
    while (at < rest.length) {
      const begins = isLineStart;
      const taken = begins ? lineStart(at, isEnd) : inline(at, isEnd);
      if (taken === undecided) break;
      if (taken.length === 0 && begins === isLineStart) throw new Error('Something is taken, or a line has begun'); // or this never ends
      // Stryker disable next-line AssignmentOperator: going back never ends
      at += taken.length;
      out += taken.text;
    }
    rest = rest.slice(at);
    lineEnd = undefined;
    return out;
  }

  /** Decides what a line is. Takes blank lines, fences and lines of code as a whole, and nothing of any other line. */
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

  /** A line of code: it may be the end of the code. */
  function readFenced({ mark }: Fence, read: string): void {
    if (closesFence(read, mark)) {
      fence = undefined;
      paragraphDoubt = false;
    } else if (read.trim().startsWith(mark) && /^[`~\s]*$/.test(read)) {
      // Some renderers end the code here.
      fence = undefined;
      doubt = true;
    }
  }

  /** A line that begins like a fence, outside of a fence of the document. */
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
    paragraphDoubt = true; // the mark is no code span
  }

  function inline(at: number, isEnd: boolean): Taken | undefined {
    special.lastIndex = at;
    const next = special.exec(rest)?.index ?? rest.length;
    const taken = next > at ? { length: next - at, text: rest.slice(at, next) } : decideMark(at, isEnd);
    if (taken) readWord(rest.slice(at, at + taken.length));
    return taken;
  }

  function readWord(piece: string): void {
    let wordStart = piece.length;
    while (wordStart > 0 && !/\s/.test(piece.charAt(wordStart - 1))) wordStart -= 1;
    mayBeAddress = (wordStart === 0 && mayBeAddress) || ofAddress.test(piece.slice(wordStart));
  }

  /** One of the characters that mean something. */
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
    return { length: 1, text: following === '<' ? '' : character }; // the next one is written as text
  }

  function isKeptImage(at: number): boolean {
    return keptImages[images]?.test(rest.slice(at, at + longestImage)) ?? false;
  }

  /** After it, an address or a label may follow. A bad address is cut off: its bracket or colon is written as text. */
  function closingBracket(at: number, following: string, isEnd: boolean): Taken | undefined {
    const leadsSomewhere = following === '(' || following === ':';
    const judgement: Judgement = leadsSomewhere ? judgeAddress(rest, at + 2, isEnd, images !== 'none') : 'good';
    if (judgement === 'undecided') return undecided;
    if (/[([:]/.test(following)) paragraphDoubt = true; // the address or the label may hold a backtick
    definesLabel ||= following === ':';
    if (judgement === 'good') return { length: 1, text: ']' };
    hasCutLink ||= following === '(';
    return { length: 2, text: following === '(' ? ']&#40;' : ']&#58;' };
  }

  /** Whatever could begin a tag, a comment or a declaration is written as text; `<https://…>` is an address. */
  function angle(at: number, following: string, isEnd: boolean): Taken | undefined {
    if (!/[a-z/!?]/i.test(following)) return { length: 1, text: '<' };
    const begins = rest.slice(at + 1, at + 9).toLowerCase();
    const addresses = ['https://', 'http://'];
    if (!isEnd && begins.length < 8 && addresses.some((address) => address.startsWith(begins))) return undecided;
    if (!addresses.some((address) => begins.startsWith(address))) return { length: 1, text: '&lt;' };
    paragraphDoubt = true; // it may hold a backtick
    return { length: 1, text: '<' };
  }

  /** A code span that opens and closes on one line stays as it is; any other backticks leave the paragraph in doubt. */
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
        if (span.includes('|')) break; // a table divides its cells before it looks for code
        return { length: spanEnd, text: span };
      }
      if (!isWhole) return undecided;
    }
    paragraphDoubt = true;
    return { length: opening.length, text: opening };
  }

  /** Line ends in one form. */
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

/** Whether a line ends the code: after three spaces at most, the mark or more of the same characters, and then only spaces. */
export function closesFence(read: string, mark: string): boolean {
  const [indent = ''] = /^ {0,3}/.exec(read) ?? [];
  const fence = withoutEnd(read.slice(indent.length), ' ');
  return fence.startsWith(mark) && withoutEnd(fence, mark.charAt(0)) === '';
}
