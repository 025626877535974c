/** Normalizes text that people type. */

/** E-mail addresses are compared without case, and with composed accents. */
export function foldEmail(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}

/** Removes white space around the text, and reduces repeated white space to one blank. All letters of a name remain. */
export function tidyName(name: string): string {
  return name.normalize('NFC').trim().replace(/\s+/g, ' ');
}

/**
 * A visible character. Blanks, control, format and combining characters, fillers and the blank of Braille are not visible by themselves.
 */
export const visibleCharacter = /[^\s\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Whether a text has a visible character. */
export function hasVisible(text: string): boolean {
  return visibleCharacter.test(text);
}

/**
 * Characters that NFKC would turn into letters. For example, "N.º" would become "N.o". No mail program reads these characters as part of a
 * web address.
 */
const marksBehindLetters = /[ºª™℠]/gu;
/**
 * Text that mail programs may turn into a link: a scheme, `www.`, four numbers, or a full stop between a letter and two or more letters,
 * because any word may be a domain. A single letter is not enough, so initials such as "J.R.R." are allowed in names.
 */
const webAddress = new RegExp(
  String.raw`[a-z][0-9+.-]*://|\bwww\.|\d{1,3}(?:\.\d{1,3}){3}|[\p{L}\p{M}\p{N}\p{S}_-][.\u3002]\p{L}\p{M}*[\p{L}\p{N}-]`,
  'iu',
);

/**
 * Whether a mail program may show a part of the text as a link. The check also finds spellings that become a link only after NFKC
 * normalization.
 */
export function holdsWebAddress(text: string): boolean {
  const plain = text.replace(marksBehindLetters, '').normalize('NFKC');
  return webAddress.test(plain.replace(/\p{Default_Ignorable_Code_Point}/gu, ''));
}

/** Scripts in which U+200C and U+200D between two letters change the shape of the letters. */
const joiningScripts = String.raw`\p{Script=Arab}\p{Script=Syrc}\p{Script=Nkoo}\p{Script=Mong}\p{Script=Deva}\p{Script=Beng}\p{Script=Guru}\p{Script=Gujr}\p{Script=Orya}\p{Script=Taml}\p{Script=Telu}\p{Script=Knda}\p{Script=Mlym}\p{Script=Sinh}\p{Script=Khmr}\p{Script=Mymr}\p{Script=Tibt}`;
/** Format characters that affect visible text: joiners of these scripts and of emoji, and the flags of regions. */
const meantFormat = new RegExp(
  String.raw`[\u200c\u200d](?<=[${joiningScripts}]\p{M}*[\u200c\u200d])(?=[${joiningScripts}])|(?<=\p{Extended_Pictographic}[\u{1f3fb}-\u{1f3ff}\ufe0f]?)\u200d(?=\p{Extended_Pictographic})|(?<=\u{1f3f4})[\u{e0020}-\u{e007e}]{1,6}\u{e007f}`,
  'gu',
);
const endsInJoiningLetter = new RegExp(String.raw`[${joiningScripts}]\p{M}{0,8}$`, 'u');
const beginsWithJoiningLetter = new RegExp(String.raw`^[${joiningScripts}]`, 'u');

/**
 * Whether the joiner U+200C or U+200D between these two texts changes the shape of a word. A joiner changes the shape before another letter
 * of a script that uses joiners, or after a mark such as a virama.
 * @param before the end of the preceding text: its last ten characters or more, or the whole text
 */
export function joinsLetters(before: string, after: string): boolean {
  return endsInJoiningLetter.test(before) && (beginsWithJoiningLetter.test(after) || /\p{M}$/u.test(before));
}

const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u2800]/u;

/** Whether a text contains control characters, format characters or fillers. They hide the text or change its direction. */
export function holdsUnseenCharacters(text: string): boolean {
  return unseen.test(text.replace(meantFormat, ''));
}

/** Escapes the wildcards of the SQL operator LIKE. */
export function likePattern(search: string): string {
  return `%${search.replace(/[\\%_]/g, (character) => `\\${character}`)}%`;
}

/**
 * @returns the LIKE pattern with which a search finds addresses that {@link foldEmail} has folded. Full-width letters of the search become
 * plain letters
 */
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

/** Escapes text for HTML, between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entityOf[character] ?? character);
}
