/** Names that people and clubs choose for themselves, and that appear in e-mails (DEC-64). */
import { DomainError } from '../errors.ts';
import { holdsUnseenCharacters, holdsWebAddress, hasVisible, tidyName } from './text.policy.ts';

/**
 * The possible problems of a name. `words` is the rest of a sentence that begins with the name of the field. It says what is wrong and what
 * to do.
 */
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

/** Two lines are separate texts. If a blank replaced the line break, the two texts would become one name. */
const lineBreak = /[\n\v\f\r\u0085\u2028\u2029]/;

/**
 * Normalizes a name.
 * @param field the name of the field in the request
 * @throws DomainError invalid_request, when the name must not appear in an e-mail to a stranger. For example, e-mail programs would turn a
 * web address in a name into a link
 */
export function plainName(name: string, field = 'name'): string {
  const tidy = tidyName(name);
  if (lineBreak.test(name.trim()))
    throw new DomainError('invalid_request', `${field} must be on one line. Remove the line break.`);
  const fault = faults.find(({ has }) => has(tidy));
  if (fault) throw new DomainError('invalid_request', `${field} ${fault.words}.`);
  return tidy;
}

/**
 * Whether a text may appear in an e-mail unchanged. A name from a platform or a file may break this rule, and so may a name that is older
 * than the rule.
 */
export function mayStandInMail(words: string): boolean {
  return !holdsUnseenCharacters(words) && !holdsWebAddress(words);
}
