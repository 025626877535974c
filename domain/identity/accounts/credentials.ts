/** Creates the errors of a failed sign-in. */
import { DomainError } from '../../../platform/core/errors.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

/** The error is the same for an unknown e-mail address and for a wrong password. */
export const invalidCredentials = () => new RefusalToPerson('invalid_credentials', 'refusal.invalid_credentials');

/** Throw it only after a correct password (DEC-16). The message is the same for a new account and an existing account. */
export const emailNotVerified = () => new RefusalToPerson('email_not_verified', 'refusal.email_not_verified');

/** An administrator erased the account while a request of the same account was under way (ERS-45). */
export const accountErased = () => new DomainError('unauthenticated', 'The account was erased meanwhile.');
