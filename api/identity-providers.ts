/** Builds the dependencies of sign-ins at identity providers from the configuration. */
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { SignInProviders } from '../domain/identity/providers/deps.ts';
import type { Egress } from '../platform/infra/egress/egress.ts';
import { createOpenIdClient } from '../platform/infra/openid/client.ts';

export function identityProvidersOf(
  { ofDeployment, redirectUris }: Config['identityProviders'],
  egress: Pick<Egress, 'dispatcher'>,
  log: Logger,
): SignInProviders {
  return {
    openId: createOpenIdClient({ dispatcher: egress.dispatcher }),
    ofDeployment: ofDeployment.reveal(),
    redirectUris,
    onFailure: (providerId, code) =>
      log.warn({ provider_id: providerId, code }, 'an identity provider did not complete a sign-in'),
  };
}
