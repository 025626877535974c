/** The errors of a failed sign-in. */
import { RefusalToPerson } from '../language/refusal.ts';

/** The answer is equal for an unknown e-mail and a wrong password. */
export const invalidCredentials = () => new RefusalToPerson('invalid_credentials', 'refusal.invalid_credentials');

/** Only after a right password (DEC-16). The message is equal for a new account and an existing one. */
export const emailNotVerified = () => new RefusalToPerson('email_not_verified', 'refusal.email_not_verified');
