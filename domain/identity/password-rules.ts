/** Which passwords may be chosen (ACC-7). Those that were chosen before stay good: this is asked for new ones alone. */
import { isLeaked } from './leaked-passwords.ts';
import { RefusalToPerson, type RefusalWords } from '../language/refusal.ts';

/** Whose password it is: what others know of them is no secret. */
export interface PasswordOwner {
  email: string;
  /** The person's, and those of their clubs. */
  names: readonly string[];
}

const leastCharacters = 10;
const leastDifferent = 4;
/** Letters and digits that must be left beside what others know of the owner. */
const leastUnknown = 6;
/** Shorter parts of a name or an address stand in many words. */
const leastPart = 3;

/**
 * @param owner absent while it is not known whose password it is: {@link requireUnknown} asks the rest later
 * @throws DomainError weak_password
 */
export function requireStrongPassword(password: string, owner?: PasswordOwner): void {
  const text = comparable(password);
  const count = Array.from(text).length;
  if (count < leastCharacters)
    throw weak(({ say }) => say('refusal.password_short', { count, least: String(leastCharacters) }));
  if (new Set(text).size < leastDifferent) throw weak('refusal.password_repeats');
  if (formsOf(text).some(isLeaked)) throw weak('refusal.password_known');
  if (owner) requireUnknown(password, owner);
}

/** @throws DomainError weak_password for one that is hardly more than the owner's address, name or club */
export function requireUnknown(password: string, { email, names }: PasswordOwner): void {
  const whole = lettersAndDigits(comparable(password));
  const parts = [email, ...names]
    .map(comparable)
    .flatMap((known) => [known, ...known.split(/[^\p{L}\p{N}]+/u)])
    .map(lettersAndDigits)
    .filter((part) => part.length >= leastPart)
    .toSorted((one, other) => other.length - one.length);
  const rest = parts.reduce((left, part) => left.replaceAll(part, ''), whole);
  if (rest !== whole && rest.length < leastUnknown) throw weak('refusal.password_personal');
}

const weak = (words: RefusalWords) => new RefusalToPerson('weak_password', words);

/** Characters that look alike or are written in another width count as the same. */
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

/** The variants of known passwords that a guesser tries: with digits around them, digits for letters, blanks between, or written twice. */
function formsOf(text: string): readonly string[] {
  const plain = [text, text.replaceAll(/\s/g, '')];
  const once = plain.flatMap((form) => [form, unitOf(form)]);
  const bare = once.flatMap((form) => [form, unitOf(coreOf(form))]);
  const spelled = bare.flatMap((form) => [form, form.replaceAll(/[013457@$]/g, (sign) => standIns[sign] ?? sign)]);
  return [...new Set(spelled)].filter((form) => form !== '');
}

/** @returns the part that the text repeats from its beginning to its end; the text itself if it repeats none */
function unitOf(text: string): string {
  const period = `${text}${text}`.indexOf(text, 1);
  return period > 0 ? text.slice(0, period) : text;
}

/** @returns the text from its first letter to its last */
function coreOf(text: string): string {
  const characters = Array.from(text);
  const isLetter = (character: string) => /\p{L}/u.test(character);
  const first = characters.findIndex(isLetter);
  return first < 0 ? '' : characters.slice(first, characters.findLastIndex(isLetter) + 1).join('');
}
