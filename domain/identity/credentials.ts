/** The errors of a failed sign-in. */
import { RefusalToPerson } from '../language/refusal.ts';

/** The same for an unknown e-mail and a wrong password. */
export const invalidCredentials = () => new RefusalToPerson('invalid_credentials', 'refusal.invalid_credentials');

/** Only after a right password (DEC-16), in the same words whether the account is new or was there before. */
export const emailNotVerified = () => new RefusalToPerson('email_not_verified', 'refusal.email_not_verified');
