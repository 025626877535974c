/**
 * The owner signs in with the identity provider of a company. The unknown identity joins the account only after a proof, here the password.
 * Then the owner adds a second factor, and the next sign-in at the provider needs it.
 */
import { Secret, TOTP } from 'otpauth';
import { signInAtProvider } from '../../identity-provider/sign-in.ts';
import type { LocalProvider } from '../../identity-provider/provider.ts';
import { Problem } from '../../problem.ts';
import { host } from '../../stack/ports.ts';
import { requireOk, type Account, type Scene } from '../scene.ts';

export interface CompanyProvider {
  readonly provider: LocalProvider;
  /** The address of the dashboard to which the provider sends the browser. */
  readonly redirectUri: string;
}

/** The members of an error that continue a sign-in. */
interface Refusal {
  readonly error?: {
    readonly code: string;
    readonly join_token?: string;
    readonly challenge?: { readonly token: string; readonly methods: readonly string[] };
  };
}

/** In seconds. */
const codePeriod = 30;

/**
 * @param from the number of the scene's first section
 * @throws Problem if the identity opens a session without a proof, or the account opens without the second factor
 */
export async function ownerSignsInAtProvider(
  scene: Scene,
  { email, password }: Account,
  { provider, redirectUri }: CompanyProvider,
  authority: string,
  from: number,
): Promise<void> {
  const { begin, tell, show, say, environment, client } = scene;
  const [person] = provider.people;
  if (person === undefined) throw new Problem('The provider has no account.');
  const post = async (path: string, body: object) => {
    const answer = await fetch(`http://${host}:${environment['API_PORT']}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    say(`   POST ${path} → ${answer.status}`);
    return { status: answer.status, body: await answer.json() };
  };
  const anonymous = client();
  const [offered] = requireOk(await scene.quietClient().GET('/v1/auth/admin/providers')).data.providers;
  if (offered === undefined) throw new Problem('The service offers no identity provider.');
  const signIn = async () => {
    const { login, password: secret } = person;
    const walk = { redirectUri, login, password: secret, authority };
    return (await signInAtProvider({ post, provider: { provider_id: offered.id }, ...walk })).body as Refusal;
  };

  begin(from, 'provider.title', { name: offered.name });
  const joinToken = (await signIn()).error?.join_token;
  if (joinToken === undefined) throw new Problem('An identity that no account knows opened a session.');
  tell('provider.unknown', { email: person.email ?? '' });
  const joined = requireOk(
    await anonymous.POST('/v1/auth/admin/identities', { body: { join_token: joinToken, email, password } }),
  ).data;
  tell('provider.joined', { name: joined.administrator.name });

  begin(from + 1, 'provider.factor');
  const owner = client(joined.token);
  const setup = requireOk(await owner.POST('/v1/me/second-factors/totp', { body: { name: 'Phone' } })).data;
  show(`${setup.uri.slice(0, setup.uri.indexOf('?'))}?…`, 'provider.app');
  const app = new TOTP({ secret: Secret.fromBase32(setup.secret), period: codePeriod });
  const enrolled = requireOk(
    await owner.POST('/v1/me/second-factors/{factorId}/confirm', {
      params: { path: { factorId: setup.id } },
      body: { code: app.generate() },
    }),
  ).data;
  tell('provider.recovery', { count: enrolled.recovery_codes?.length ?? 0 });

  begin(from + 2, 'provider.again');
  const challenge = (await signIn()).error?.challenge;
  if (challenge === undefined) throw new Problem('The second factor was not asked for.');
  tell('provider.challenge', { methods: challenge.methods.join(', ') });
  // Each code is accepted once, so the tour shows the next one, as a person who waits does.
  const code = app.generate({ timestamp: Date.now() + codePeriod * 1_000 });
  const finished = requireOk(
    await anonymous.POST('/v1/auth/admin/second-factor', { body: { challenge: challenge.token, code } }),
  ).data;
  const { data: sessions } = requireOk(await client(finished.token).GET('/v1/me/sessions'));
  tell('provider.sessions', { count: sessions.length });
}
