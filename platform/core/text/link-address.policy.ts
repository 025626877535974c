/**
 * The addresses that a link of members' Markdown may have (DEC-148): `http`, `https`, `mailto`, a file of the library, or a page of the
 * same site.
 *
 * Checks the address as it is typed. It must begin literally with one of the known beginnings, so no entity or escape can hide a scheme.
 */

export type Judgement = 'good' | 'bad' | 'undecided';

/** The characters of white space and quote markers before an address. */
const longestGap = 60;
/** The length of an address before its first slash, except in a mail address. */
const longestBeginning = 120;

/** The gap before an address, its beginning (up to the first slash, `?` or `#`), and the next two characters. */
const shape = /^([\s>]*)(?:<([^\n)/?#<>]*)|([^\s)/?#<>]*))([^]{0,2})/;
const mediaAddress = /^media:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** No colon, and no character that a renderer could decode into a colon. */
const relativeBeginning = /^[\p{L}\p{M}\p{N}_.~!$'*+,;=@( -]*$/u;
/** A slash at the beginning must not be followed by a second slash, in any spelling. */
const afterSlash = /^\/(?:$|[\p{L}\p{N}\p{Extended_Pictographic}_.~!$'*+,;=@?#)> \n-])/u;

/**
 * @param text the Markdown that has arrived so far
 * @param start after `](` or `]:`
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
  // The angle bracket is escaped, because it could begin a tag.
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
