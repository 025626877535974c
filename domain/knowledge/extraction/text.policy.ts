/** Cleans the text of passages. The result has only characters that Postgres accepts and people see, and each letter has only one form. */
import { joinsLetters } from '../../../platform/core/text/text.policy.ts';

/** Control characters except tabs and line feeds. Postgres does not accept NUL. */
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000E-\u001F\u007F-\u0084\u0086-\u009F]/g;
/** Characters without width: soft hyphens and direction marks. */
const unseen = /[\u00AD\u061C\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u206F\uFEFF\uFFF9-\uFFFB]/g;
const joiners = /[\u200C\u200D]+/g;
// oxlint-disable-next-line no-control-regex
const lineEnds = /\r\n?|[\u000B\u000C\u0085\u2028\u2029]/g;
const spaces = /[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/g;

/** A half of a surrogate pair becomes the replacement character. White space becomes spaces, tabs and line feeds. */
export function cleanText(text: string): string {
  return text
    .toWellFormed()
    .replace(lineEnds, '\n')
    .replace(controls, '')
    .replace(unseen, '')
    .replace(joiners, meantJoiner)
    .replace(spaces, ' ')
    .normalize('NFC');
}

const afterPicture = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F]$/u;

/** A joiner between two emoji combines the emoji to one picture, and some scripts need joiners in words. Any other joiner is dropped. */
function meantJoiner(run: string, at: number, whole: string): string {
  const before = whole.slice(Math.max(0, at - 12), at);
  if (run.includes('\u200D') && afterPicture.test(before)) return '\u200D';
  return joinsLetters(before, whole.slice(at + run.length, at + run.length + 2)) ? run.slice(0, 1) : '';
}

/** Cleans a text like {@link cleanText}, and writes it on one line with single spaces. */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ').trim();
}

/** @returns the number of characters (code points) */
export function lengthOf(text: string): number {
  return text.length - (text.match(/[\udc00-\udfff]/g)?.length ?? 0); // a surrogate pair is one character
}

export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}
