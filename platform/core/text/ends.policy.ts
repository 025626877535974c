/**
 * Removes characters from the ends of a text in one pass. A regular expression such as `/-+$/` would read each run of such characters again
 * and again.
 */

/** @param characters characters of one UTF-16 code unit each @returns the text without any of these characters at its end */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** @param characters characters of one UTF-16 code unit
 * each @returns the text without any of these characters at its beginning or its end */
export function withoutEnds(text: string, characters: string): string {
  let start = 0;
  while (start < text.length && characters.includes(text.charAt(start))) start += 1;
  return withoutEnd(text.slice(start), characters);
}
