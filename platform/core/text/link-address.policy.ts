/**
 * The addresses that a link of untrusted Markdown may have (DEC-148): `http`, `https`, `mailto`, a file of the library, or a page of the
 * same site.
 *
 * The function checks the address as it is typed, before a renderer decodes entities, escapes and percent signs. The address must begin
 * literally with one of the known beginnings, so no other spelling of a scheme is accepted.
 */

export type Judgement = 'good' | 'bad' | 'undecided';

/** The maximum length of the white space and quote markers before an address. An address after a longer gap is refused. */
const longestGap = 60;
/** The maximum length of an address before its first slash. A longer part makes the address bad, except in a mail address. */
const longestBeginning = 120;

/**
 * Matches the gap before an address, the beginning of the address (up to its first slash, `?` or `#`), and the next two characters. An
 * address in angle
 * brackets may contain blanks.
 */
const shape = /^([\s>]*)(?:<([^\n)/?#<>]*)|([^\s)/?#<>]*))([^]{0,2})/;
const mediaAddress = /^media:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** A relative address has no colon, and no character that a renderer could decode into a colon. */
const relativeBeginning = /^[\p{L}\p{M}\p{N}_.~!$'*+,;=@( -]*$/u;
/** Matches the text after a slash at the beginning of an address. This text must not begin with a second slash, in any spelling. */
const afterSlash = /^\/(?:$|[\p{L}\p{N}\p{Extended_Pictographic}_.~!$'*+,;=@?#)> \n-])/u;

/**
 * @param text the Markdown that has arrived so far
 * @param start the index after `](` or `]:`
 * @param isEnd whether the text is complete
 * @param mayNameMedia whether `media:<id>` is an allowed address
 * @returns the decision about the address; undecided if more text is needed
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
