/** Creates the errors of sign-ins at identity providers. */
import { DomainError } from '../../../platform/core/errors.ts';

/** The one answer for every wrong, expired, used or foreign value, and for a provider that fails (OIDC-2). */
export const signInFailed = () =>
  new DomainError('provider_sign_in_failed', 'The sign-in with the identity provider failed. Start it again.');

export const identityLimitReached = () =>
  new DomainError('identity_limit_reached', 'The account has 20 identities. Remove one first.');

export const lastSignInMethod = (message: string) => new DomainError('last_sign_in_method', message);

/** The provider knows the person, and the identity is not joined to an account yet. */
export class IdentityNotJoined extends DomainError {
  override readonly members: { readonly join_token: string };

  /** @param joinToken proves the identity when it joins an account */
  constructor(joinToken: string) {
    super(
      'identity_not_joined',
      'This identity is not joined to an account yet. Prove your account by its password or by a mailed code.',
    );
    this.members = { join_token: joinToken };
  }
}
