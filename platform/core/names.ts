/** Names that people and clubs give themselves, and that go into mails (DEC-64). */
import { DomainError } from './errors.ts';
import { holdsWebAddress, tidyName } from './text.policy.ts';

/**
 * Brings a name into its form.
 * @param field where it stands in the request
 * @throws DomainError invalid_request for a name with a web address: a mail of ours would carry it to strangers as a link
 */
export function plainName(name: string, field = 'name'): string {
  const tidy = tidyName(name);
  if (holdsWebAddress(tidy))
    throw new DomainError('invalid_request', `${field} must not hold a web address, because it goes into mails.`);
  return tidy;
}
