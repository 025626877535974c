/** Serves an API with a local identity provider, which is a real one in a process of its own. */
import { identityProvidersOf } from '../../../api/identity-providers.ts';
import {
  settingOf,
  startLocalProvider,
  type AlterAnswer,
  type LocalProvider,
} from '../../../dev/identity-provider/provider.ts';
import type { ProviderPerson } from '../../../dev/identity-provider/settings.ts';
import { signInAtProvider } from '../../../dev/identity-provider/sign-in.ts';
import { walkThroughProvider, type WalkedAnswer } from '../../../dev/identity-provider/walk.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { createEgress, type Egress } from '../../../platform/infra/egress/egress.ts';
import { createOpenIdClient, signInLimits } from '../../../platform/infra/openid/client.ts';
import { deploymentProviderId, parseProviders } from '../../../platform/infra/openid/settings.ts';
import { callAt, type Answer, type Call } from '../drive/api.ts';
import { serveApp, type ServedApp } from './app.ts';
import { testStack } from './stack.ts';

const redirectUri = 'http://dashboard.localhost:3000/sign-in/provider';

export interface TestProvider extends LocalProvider {
  /** Its id as a provider of the deployment. */
  id: Id;
  /** Changes the answers of the provider from now on. */
  alter: AlterAnswer;
}

/** A person with unique subject, login and address. */
export function somebody(
  given: Partial<ProviderPerson> & { domain?: string } = {},
): ProviderPerson & { email: string } {
  const { domain = 'harbour.example', ...rest } = given;
  const unique = newId();
  return {
    subject: `subject-${unique}`,
    login: `login-${unique}`,
    password: `password-${unique}`,
    email: `person-${unique}@${domain}`,
    name: 'Grace Example',
    ...rest,
  };
}

export async function startProvider(
  people: readonly ProviderPerson[],
  redirectUris: readonly string[] = [redirectUri],
): Promise<TestProvider> {
  const { authority } = await testStack();
  const certificate = await authority.issue(['localhost']);
  const provider: { alter: AlterAnswer } = { alter: (_path, answer) => answer };
  const started = await startLocalProvider({
    certificate,
    redirectUris,
    people,
    alter: (path, answer) => provider.alter(path, answer),
  });
  return Object.assign(provider, started, { id: deploymentProviderId(started.clientId, started.issuer) });
}

export interface ProviderApi extends ServedApp {
  call: (method: string, path: string, options?: Call) => Promise<Answer>;
  /** The reasons of failed sign-ins, as the operator sees them in the log. */
  failures: string[];
  egress: Egress;
  /** Makes the documents of providers in memory older. */
  ageDocuments: (ms: number) => void;
}

/** @param ofDeployment the providers that every administrator may sign in with */
export async function serveWithProviders(
  ofDeployment: readonly TestProvider[],
  {
    limits = signInLimits,
    redirectUris = [redirectUri],
  }: { limits?: { timeMs: number; answerBytes: number }; redirectUris?: readonly [string] } = {},
): Promise<ProviderApi> {
  const { authority } = await testStack();
  const egress = createEgress({ allowedNetworks: ['127.0.0.0/8'], extraCa: authority.certificate });
  const failures: string[] = [];
  let aheadMs = 0;
  const served = await serveApp({
    deps: (usual) => ({
      ...usual,
      deps: {
        ...usual.deps,
        egress,
        providers: {
          ...identityProvidersOf(
            {
              ofDeployment: new Secret(
                ofDeployment.flatMap((one) => parseProviders(settingOf(one, one.clientId, 'Harbour Group')).value),
              ),
              redirectUris,
            },
            egress,
            usual.log,
          ),
          openId: createOpenIdClient({
            dispatcher: egress.dispatcher,
            clock: () => Date.now() + aheadMs,
            limits,
          }),
          onFailure: (_id, code) => failures.push(code),
        },
      },
    }),
  });
  return {
    ...served,
    egress,
    failures,
    ageDocuments: (ms) => void (aheadMs += ms),
    call: (method, path, options) => callAt(served.base, method, path, options),
    async close() {
      await served.close();
      await egress.close();
    },
  };
}

interface Started {
  url: string;
  sign_in_token: string;
}

export async function start(api: ProviderApi, name: { provider_id: Id } | { club: string }): Promise<Started> {
  const { body } = await api.call('POST', '/v1/auth/admin/providers/start', { body: name });
  return body.data as Started;
}

/** Signs a person in on the pages of the provider. */
export async function walk(url: string, { login, password }: ProviderPerson): Promise<WalkedAnswer> {
  const { authority } = await testStack();
  return walkThroughProvider({ url, redirectUri, login, password, authority: authority.certificate });
}

/** Starts a sign-in, walks through the provider, and exchanges the code. */
export async function signInBy(
  api: ProviderApi,
  provider: { provider_id: Id } | { club: string },
  { login, password }: ProviderPerson,
): Promise<Answer> {
  const { authority } = await testStack();
  let last: Answer | undefined;
  await signInAtProvider({
    post: async (path, body) => (last = await api.call('POST', path, { body })),
    provider,
    redirectUri,
    login,
    password,
    authority: authority.certificate,
  });
  if (!last) throw new Error('The sign-in made no call.');
  return last;
}

/** Joins the identity of a person to the account with this password, and returns the session. */
export async function joinBy(
  api: ProviderApi,
  name: { provider_id: Id } | { club: string },
  person: ProviderPerson,
  proof: { email: string; password: string },
): Promise<Answer> {
  const { body } = await signInBy(api, name, person);
  return api.call('POST', '/v1/auth/admin/identities', {
    body: { join_token: body.error.join_token, ...proof },
  });
}
