/** Normalizes text that people type. */

export function foldEmail(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}

/** Removes white space around the text, and reduces repeated white space to one blank. */
export function tidyName(name: string): string {
  return name.normalize('NFC').trim().replace(/\s+/g, ' ');
}

/** Blanks, control, format and combining characters, fillers and the blank of Braille are not visible by themselves. */
export const visibleCharacter = /[^\s\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;

export function hasVisible(text: string): boolean {
  return visibleCharacter.test(text);
}

/** NFKC would turn these into letters: "N.º" would become "N.o". No mail program reads them as part of a web address. */
const marksBehindLetters = /[ºª™℠]/gu;
/** A scheme, `www.`, four numbers, or a full stop between a letter and two or more letters. Initials such as "J.R.R." are allowed. */
const webAddress = new RegExp(
  String.raw`[a-z][0-9+.-]*://|\bwww\.|\d{1,3}(?:\.\d{1,3}){3}|[\p{L}\p{M}\p{N}\p{S}_-][.\u3002]\p{L}\p{M}*[\p{L}\p{N}-]`,
  'iu',
);

/** Whether a mail program may show a part of the text as a link, also after NFKC normalization. */
export function holdsWebAddress(text: string): boolean {
  const plain = text.replace(marksBehindLetters, '').normalize('NFKC');
  return webAddress.test(plain.replace(/\p{Default_Ignorable_Code_Point}/gu, ''));
}

/** In these scripts U+200C and U+200D change the shape of letters. */
const joiningScripts = String.raw`\p{Script=Arab}\p{Script=Syrc}\p{Script=Nkoo}\p{Script=Mong}\p{Script=Deva}\p{Script=Beng}\p{Script=Guru}\p{Script=Gujr}\p{Script=Orya}\p{Script=Taml}\p{Script=Telu}\p{Script=Knda}\p{Script=Mlym}\p{Script=Sinh}\p{Script=Khmr}\p{Script=Mymr}\p{Script=Tibt}`;
/** Format characters that change visible text: joiners of these scripts and of emoji, and the flags of regions. */
const meantFormat = new RegExp(
  String.raw`[\u200c\u200d](?<=[${joiningScripts}]\p{M}*[\u200c\u200d])(?=[${joiningScripts}])|(?<=\p{Extended_Pictographic}[\u{1f3fb}-\u{1f3ff}\ufe0f]?)\u200d(?=\p{Extended_Pictographic})|(?<=\u{1f3f4})[\u{e0020}-\u{e007e}]{1,6}\u{e007f}`,
  'gu',
);
const endsInJoiningLetter = new RegExp(String.raw`[${joiningScripts}]\p{M}{0,8}$`, 'u');
const beginsWithJoiningLetter = new RegExp(String.raw`^[${joiningScripts}]`, 'u');

/**
 * Whether the joiner between these two texts changes the shape of a word.
 * @param before the last ten characters or more, or the whole text
 */
export function joinsLetters(before: string, after: string): boolean {
  return endsInJoiningLetter.test(before) && (beginsWithJoiningLetter.test(after) || /\p{M}$/u.test(before));
}

const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u2800]/u;

/** These characters hide the text or change its direction. */
export function holdsUnseenCharacters(text: string): boolean {
  return unseen.test(text.replace(meantFormat, ''));
}

export function likePattern(search: string): string {
  return `%${search.replace(/[\\%_]/g, (character) => `\\${character}`)}%`;
}

/** @returns the LIKE pattern for addresses that {@link foldEmail} has folded */
export function emailPattern(search: string): string {
  return likePattern(foldEmail(search.normalize('NFKC')));
}

const entityOf: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The result is safe in HTML between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entityOf[character] ?? character);
}
