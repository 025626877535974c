/** Line breaks that only the source of a text has: the page shows one paragraph. */

/**
 * Chinese, Japanese and Thai are written without blanks, so between their letters a line break is nothing; elsewhere it is a blank.
 * @returns the text without the line breaks that are nothing
 */
export function joinUnspaced(text: string): string {
  return text.includes('\n') ? text.replace(betweenUnspaced, '') : text;
}

const betweenUnspaced =
  /(?<=[\p{Script=Han}\p{Script=Hira}\p{Script=Kana}\p{Script=Bopo}\p{Script=Thai}\p{Script=Laoo}\p{Script=Khmr}\p{Script=Mymr}\u3000-\u303f\u30fb\u30fc\uff01-\uff9f])[ \t\r]*\n\s*(?=[\p{Script=Han}\p{Script=Hira}\p{Script=Kana}\p{Script=Bopo}\p{Script=Thai}\p{Script=Laoo}\p{Script=Khmr}\p{Script=Mymr}\u3000-\u303f\u30fb\u30fc\uff01-\uff9f])/gu;
