/** Names that people and clubs choose for themselves, and that appear in e-mails (DEC-64). */
import { DomainError } from '../errors.ts';
import { holdsUnseenCharacters, holdsWebAddress, hasVisible, tidyName } from './text.policy.ts';

/** `words` continues a sentence that begins with the name of the field. */
const faults: readonly { has: (name: string) => boolean; words: string }[] = [
  { has: (name) => !hasVisible(name), words: 'must have a visible character' },
  {
    has: holdsUnseenCharacters,
    words: 'must not contain control or format characters, because they hide text. Type the name again',
  },
  {
    has: holdsWebAddress,
    words: 'must not contain a web address, because the name appears in e-mails. Put a blank after each full stop',
  },
  { has: (name) => /<[a-z/!?]/i.test(name), words: 'must not contain an HTML tag. Put a blank after each `<`' },
];

/** Two lines are two texts; a blank instead of the line break would join them. */
const lineBreak = /[\n\v\f\r\u0085\u2028\u2029]/;

/**
 * Normalizes a name.
 * @throws DomainError invalid_request, for example if e-mail programs would turn a part of the name into a link
 */
export function plainName(name: string, field = 'name'): string {
  const tidy = tidyName(name);
  if (lineBreak.test(name.trim()))
    throw new DomainError('invalid_request', `${field} must be on one line. Remove the line break.`);
  const fault = faults.find(({ has }) => has(tidy));
  if (fault) throw new DomainError('invalid_request', `${field} ${fault.words}.`);
  return tidy;
}

/** Whether a text may appear in an e-mail unchanged. Names from a platform or a file, and older names, are not checked before. */
export function mayStandInMail(words: string): boolean {
  return !holdsUnseenCharacters(words) && !holdsWebAddress(words);
}
