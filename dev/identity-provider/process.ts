/**
 * A real OpenID Connect provider (`oidc-provider`) as a process of its own, for tests and for `npm start`. It listens without TLS on this
 * machine; the front of its parent process adds TLS. It ends with its parent.
 */
import { createServer } from 'node:http';
import Provider, { type AccountClaims, type Configuration } from 'oidc-provider';
import { frontHeader, settingsVariable, type ProviderPerson, type ProviderSettings } from './settings.ts';

const settings = JSON.parse(process.env[settingsVariable] ?? '{}') as ProviderSettings;
const { issuer, clientId, clientSecret, redirectUris, people, frontSecret } = settings;

const claimsOf = ({ subject, email, emailVerified = true, name }: ProviderPerson): AccountClaims => ({
  sub: subject,
  ...(email !== undefined && { email, email_verified: emailVerified }),
  ...(name !== undefined && { name }),
});

const configuration: Configuration = {
  clients: [
    {
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [...redirectUris],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
  ],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  features: { devInteractions: { enabled: false } },
  pkce: { required: () => true },
  cookies: { keys: [frontSecret] },
  ttl: { AccessToken: 300, IdToken: 300, Interaction: 600, Session: 600, Grant: 600 },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  findAccount(_context, subject) {
    const person = people.find((one) => one.subject === subject);
    return person && { accountId: subject, claims: async () => claimsOf(person) };
  },
  // The person has agreed to everything by the sign-in, so the provider shows no second page.
  async loadExistingGrant(context) {
    const { session, client } = context.oidc;
    if (!session?.accountId || !client) return undefined;
    const grant = new context.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope('openid email profile');
    await grant.save();
    return grant;
  },
};

const provider = new Provider(issuer, configuration);
provider.proxy = true;

const page = (uid: string, problem = '') => `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in</title>
<h1>Sign in</h1><p role="alert">${problem}</p><form method="post" action="/interaction/${uid}">
<label>Login <input name="login" autocomplete="username"></label>
<label>Password <input name="password" type="password" autocomplete="current-password"></label>
<button>Sign in</button></form></html>`;

async function bodyOf(request: AsyncIterable<Buffer>): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
}

const handle = provider.callback();
const server = createServer((request, response) => {
  void (async () => {
    if (request.headers[frontHeader] !== frontSecret) return response.writeHead(403).end();
    if (!request.url?.startsWith('/interaction/')) return handle(request, response);
    const { uid } = await provider.interactionDetails(request, response);
    const html = { 'content-type': 'text/html; charset=utf-8' };
    if (request.method !== 'POST') return response.writeHead(200, html).end(page(uid));
    const form = await bodyOf(request);
    const person = people.find((one) => one.login === form.get('login') && one.password === form.get('password'));
    if (!person) return response.writeHead(200, html).end(page(uid, 'The login or the password is wrong.'));
    return provider.interactionFinished(request, response, { login: { accountId: person.subject } });
  })().catch((error: unknown) => {
    response.writeHead(400, { 'content-type': 'text/plain' }).end(error instanceof Error ? error.message : 'failed');
  });
});
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.send?.({ port: address.port });
});
