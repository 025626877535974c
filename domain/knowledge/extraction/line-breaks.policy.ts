/** Removes line breaks that exist only in the source of a text. The page shows the lines as one paragraph. */

/**
 * Removes line breaks between letters of scripts without spaces, such as Chinese, Japanese and Thai. In other scripts, a line break means a
 * space.
 */
export function joinUnspaced(text: string): string {
  return text.includes('\n') ? text.replace(betweenUnspaced, '') : text;
}

const betweenUnspaced =
  /(?<=[\p{Script=Han}\p{Script=Hira}\p{Script=Kana}\p{Script=Bopo}\p{Script=Thai}\p{Script=Laoo}\p{Script=Khmr}\p{Script=Mymr}\u3000-\u303f\u30fb\u30fc\uff01-\uff9f])[ \t\r]*\n\s*(?=[\p{Script=Han}\p{Script=Hira}\p{Script=Kana}\p{Script=Bopo}\p{Script=Thai}\p{Script=Laoo}\p{Script=Khmr}\p{Script=Mymr}\u3000-\u303f\u30fb\u30fc\uff01-\uff9f])/gu;
