/**
 * Where a link of untrusted Markdown may lead (DEC-148): `http`, `https`, `mailto`, a file of the library, or a place of the same site.
 *
 * The address is judged as it is typed, before a renderer decodes entities, escapes and percent signs. It must begin with one of the
 * known beginnings letter by letter, so no spelling of another scheme gets through.
 */

export type Judgement = 'good' | 'bad' | 'undecided';

/** White space and marks of quotes before an address; more of it makes the address bad. */
const longestGap = 60;
/** The part of an address before its first slash; a longer one is bad unless it is a mail address. */
const longestBeginning = 120;

/** Gap, the beginning, and the two characters after it. Blanks belong to an address in angle brackets. */
const shape = /^([\s>]*)(?:<([^\n)/?#<>]*)|([^\s)/?#<>]*))([^]{0,2})/;
const mediaAddress = /^media:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Without a colon, and without a character that a renderer could decode into one. */
const relativeBeginning = /^[\p{L}\p{M}\p{N}_.~!$'*+,;=@( -]*$/u;
/** After a slash that begins the address: never another slash, in no spelling. */
const afterSlash = /^\/(?:$|[\p{L}\p{N}\p{Extended_Pictographic}_.~!$'*+,;=@?#)> \n-])/u;

/**
 * @param text the Markdown so far
 * @param start the place after `](` or `]:`
 * @param isEnd whether no more text comes
 * @param mayNameMedia whether `media:<id>` is an address
 * @returns undecided if more text is needed
 */
export function judgeAddress(text: string, start: number, isEnd: boolean, mayNameMedia: boolean): Judgement {
  const window = text.slice(start, start + longestGap + longestBeginning + 3);
  const isCut = start + window.length === text.length && !isEnd;
  const [whole = '', gap = '', bracketed, bare = '', next = ''] = shape.exec(window) ?? [];
  const beginning = bracketed?.trimStart() ?? bare;
  if (gap.length > longestGap) return 'bad';
  if (bracketed === undefined && /^mailto:./i.test(bare)) return 'good';
  if (next === '' || (next.length < 2 && whole.length === window.length)) {
    if (isCut) return 'undecided';
    if (window.length === longestGap + longestBeginning + 3) return 'bad';
  }
  if (beginning.length > longestBeginning) return 'bad';
  if (/^https?:$/i.test(beginning)) return next === '//' ? 'good' : 'bad';
  // Such a bracket is written as text, because it could begin a tag.
  if (next.startsWith('<') || (bracketed !== undefined && /^[a-z/!?]/i.test(bracketed + next))) return 'bad';
  if (mediaAddress.test(beginning)) return mayNameMedia ? 'good' : 'bad';
  if (beginning === '' && next.startsWith('/')) return afterSlash.test(next) ? 'good' : 'bad';
  return relativeBeginning.test(percentDecoded(beginning)) ? 'good' : 'bad';
}

function percentDecoded(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}
