/** Taking characters off the ends of a text in one pass. A pattern such as `/-+$/` looks at the rest of each run again and again. */

/** @param characters each of one code unit @returns the text without those of them that it ends with */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** @param characters each of one code unit @returns the text without those of them that it begins or ends with */
export function withoutEnds(text: string, characters: string): string {
  let start = 0;
  while (start < text.length && characters.includes(text.charAt(start))) start += 1;
  return withoutEnd(text.slice(start), characters);
}
