/** Names that people and clubs give themselves, and that go into mails (DEC-64). */
import { DomainError } from './errors.ts';
import { holdsUnseenCharacters, holdsWebAddress, hasVisible, tidyName } from './text.policy.ts';

/** What is wrong with a name, and what to do, behind the field that has it. */
const faults: readonly { has: (name: string) => boolean; words: string }[] = [
  { has: (name) => !hasVisible(name), words: 'must have a character that can be seen' },
  {
    has: holdsUnseenCharacters,
    words: 'must not hold control or format characters, because they hide what it says. Type it anew',
  },
  {
    has: holdsWebAddress,
    words: 'must not hold a web address, because it goes into mails. Put a blank behind each full stop',
  },
  { has: (name) => /<[a-z/!?]/i.test(name), words: 'must not hold a tag of HTML. Put a blank behind each `<`' },
];

/** Two lines are two things: a blank in place of the break would make one name of them. */
const lineBreak = /[\n\v\f\r\u0085\u2028\u2029]/;

/**
 * Brings a name into its form.
 * @param field where it stands in the request
 * @throws DomainError invalid_request for a name that must not go into a mail to strangers: a web address would be a link there
 */
export function plainName(name: string, field = 'name'): string {
  const tidy = tidyName(name);
  if (lineBreak.test(name.trim()))
    throw new DomainError('invalid_request', `${field} must stand in one line. Take the line break out.`);
  const fault = faults.find(({ has }) => has(tidy));
  if (fault) throw new DomainError('invalid_request', `${field} ${fault.words}.`);
  return tidy;
}

/** Whether words may go into a mail as they are. Names from a platform, a file, or before a rule may not. */
export function mayStandInMail(words: string): boolean {
  return !holdsUnseenCharacters(words) && !holdsWebAddress(words);
}
