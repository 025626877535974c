/** The errors of a failed sign-in. */
import { DomainError } from '../../platform/core/errors.ts';

/** The same for an unknown e-mail and a wrong password. */
export const invalidCredentials = () => new DomainError('invalid_credentials', 'The e-mail or the password is wrong.');

/** Only after a right password (DEC-16), in the same words whether the account is new or was there before. */
export const emailNotVerified = () =>
  new DomainError(
    'email_not_verified',
    'Confirm your e-mail address first, with the link in your mailbox; if you had an account before, reset its password.',
  );
