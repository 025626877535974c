/** What a sign-in that fails is told. */
import { DomainError } from '../core/errors.ts';

/** The same for an unknown e-mail and a wrong password. */
export const invalidCredentials = () => new DomainError('invalid_credentials', 'The e-mail or the password is wrong.');

/** Told only after a right password (DESIGN §4). */
export const emailNotVerified = () =>
  new DomainError('email_not_verified', 'Confirm your e-mail address first: the link is in your mailbox.');
