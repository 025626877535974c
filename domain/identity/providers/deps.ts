/** The dependencies of sign-ins at identity providers. */
import type { OpenIdClient } from '../../../platform/infra/openid/client.ts';
import type { DeploymentProvider } from '../../../platform/infra/openid/settings.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { StudentDeps } from '../../deps.ts';

export interface SignInProviders {
  openId: OpenIdClient;
  /** The providers that every administrator may sign in with. */
  ofDeployment: readonly DeploymentProvider[];
  /** The addresses of the dashboard to which a provider may send the browser, at least one. */
  redirectUris: readonly [string, ...string[]];
  /** Receives the reason of a sign-in that a provider did not complete. The caller of the API does not get it. */
  onFailure: (providerId: Id, code: string) => void;
}

export type ProviderDeps = StudentDeps & { providers: SignInProviders };
