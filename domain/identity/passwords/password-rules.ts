/** Checks new passwords (ACC-7). Existing passwords stay valid. */
import { isLeaked } from './leaked-passwords.ts';
import { RefusalToPerson, type RefusalWords } from '../../language/refusal.ts';

/** The public data about the owner of a password. This data must not be the main part of the password. */
export interface PasswordOwner {
  email: string;
  names: readonly string[];
}

const minCharacters = 10;
const minDistinct = 4;
/** The letters and digits that must remain after the owner's public data is removed from the password. */
const minUnknown = 6;
/** Shorter parts of the owner's name and address are not removed from a password, because they occur in many words. */
const minPartLength = 3;

/**
 * @param owner absent if the owner is not known yet; then {@link requireUnknown} checks the password later
 * @throws DomainError weak_password
 */
export function requireStrongPassword(password: string, owner?: PasswordOwner): void {
  const text = comparable(password);
  const count = Array.from(text).length;
  if (count < minCharacters)
    throw weak(({ say }) => say('refusal.password_short', { count, least: String(minCharacters) }));
  if (new Set(text).size < minDistinct) throw weak('refusal.password_repeats');
  if (formsOf(text).some(isLeaked)) throw weak('refusal.password_known');
  if (owner) requireUnknown(password, owner);
}

/** @throws DomainError weak_password if the password is little more than the owner's address, the owner's name, or the name of the club */
export function requireUnknown(password: string, { email, names }: PasswordOwner): void {
  const whole = lettersAndDigits(comparable(password));
  const parts = [email, ...names]
    .map(comparable)
    .flatMap((known) => [known, ...known.split(/[^\p{L}\p{N}]+/u)])
    .map(lettersAndDigits)
    .filter((part) => part.length >= minPartLength)
    .toSorted((one, other) => other.length - one.length);
  const rest = parts.reduce((remainder, part) => remainder.replaceAll(part, ''), whole);
  if (rest !== whole && rest.length < minUnknown) throw weak('refusal.password_personal');
}

const weak = (words: RefusalWords) => new RefusalToPerson('weak_password', words);

/**
 * Makes texts comparable: the function converts letters to lower case, and replaces each special form of a character, such as a wide
 * letter, by the usual character.
 */
const comparable = (text: string) => text.normalize('NFKC').toLowerCase();

const lettersAndDigits = (text: string) => text.replaceAll(/[^\p{L}\p{N}]/gu, '');

const standIns: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
};

/**
 * Undoes the changes that people make to common passwords: digits at the ends, digits instead of letters, blanks between letters, or the
 * password twice.
 */
function formsOf(text: string): readonly string[] {
  const plain = [text, text.replaceAll(/\s/g, '')];
  const once = plain.flatMap((form) => [form, unitOf(form)]);
  const bare = once.flatMap((form) => [form, unitOf(coreOf(form))]);
  const spelled = bare.flatMap((form) => [form, form.replaceAll(/[013457@$]/g, (sign) => standIns[sign] ?? sign)]);
  return [...new Set(spelled)].filter((form) => form !== '');
}

/** @returns the shortest part of which the text is a repetition: `ab` for `abab`. If there is none, returns the whole text */
function unitOf(text: string): string {
  const period = `${text}${text}`.indexOf(text, 1);
  return period > 0 ? text.slice(0, period) : text;
}

/** @returns the part of the text from its first letter to its last letter */
function coreOf(text: string): string {
  const characters = Array.from(text);
  const isLetter = (character: string) => /\p{L}/u.test(character);
  const first = characters.findIndex(isLetter);
  return first < 0 ? '' : characters.slice(first, characters.findLastIndex(isLetter) + 1).join('');
}
