/**
 * Signs people in at OpenID Connect providers: authorization code with PKCE, state and nonce (OIDC-1). All requests go through the guarded
 * egress. The signature of each ID token is checked with the keys of the provider.
 */
import * as openid from 'openid-client';
import type { Secret } from '../../core/secret.ts';
import type { WebhookDispatcher } from '../egress/connection-pool.ts';
import { guardedFetch, type GuardedAnswer } from '../egress/guarded-fetch.ts';
import { createProviderDocuments } from './provider-documents.ts';
import { createProviderPermits } from './permits.ts';

/** The settings of one provider. */
export interface OpenIdProvider {
  id: string;
  /** `https` without a query; the discovery document is under it. */
  issuer: string;
  clientId: string;
  clientSecret: Secret;
  /** Separated by blanks, with `openid`. */
  scopes: string;
}

/** The secrets of one sign-in. They never leave the service, except `state` and the hash of `verifier`. */
export interface SignInSecrets {
  state: string;
  nonce: string;
  verifier: string;
}

/** The claims of a provider about a person, after all checks. */
export interface ProviderClaims {
  issuer: string;
  subject: string;
  email: string | null;
  /** Whether the provider says that it has verified the address. */
  isEmailVerified: boolean;
  name: string | null;
}

/** The answer of the person's browser, from the address of the dashboard. */
export interface ProviderAnswer {
  code: string;
  state: string;
  iss?: string | undefined;
}

/** The provider did not complete the sign-in. `code` names the check or the connection, and contains no data of the person. */
export class ProviderFailed extends Error {
  override name = 'ProviderFailed';
  readonly code: string;
  constructor(code: string, options?: ErrorOptions) {
    super(`The identity provider failed: ${code}`, options);
    this.code = code;
  }
}

/** All permits are in use. */
export class ProviderBusy extends Error {
  override name = 'ProviderBusy';
}

export interface OpenIdClient {
  /**
   * @returns the address of the provider's sign-in page
   * @throws ProviderFailed, ProviderBusy
   */
  begin(provider: OpenIdProvider, redirectUri: string, secrets: SignInSecrets): Promise<string>;
  /**
   * Exchanges the code, and checks the ID token.
   * @throws ProviderFailed, ProviderBusy
   */
  finish(
    provider: OpenIdProvider,
    redirectUri: string,
    secrets: SignInSecrets,
    answer: ProviderAnswer,
  ): Promise<ProviderClaims>;
  /** Reads the discovery document, as the first sign-in would. @throws ProviderFailed, ProviderBusy */
  check(provider: OpenIdProvider): Promise<void>;
}

/** In milliseconds. One sign-in makes at most five requests: discovery, token, keys, user info. */
export const signInLimits = { timeMs: 8_000, answerBytes: 131_072 } as const;
/** The tolerance for clocks that differ, in seconds. */
const clockToleranceSeconds = 30;

export function createOpenIdClient({
  dispatcher,
  clock = Date.now,
  limits = signInLimits,
}: {
  dispatcher: WebhookDispatcher;
  clock?: () => number;
  limits?: { timeMs: number; answerBytes: number };
}): OpenIdClient {
  const documents = createProviderDocuments(clock);
  const permits = createProviderPermits();

  /** Runs the work with a permit and a time limit, and maps its errors. */
  async function within<T>(provider: OpenIdProvider, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const release = permits.tryAcquire(provider.id);
    if (!release) throw new ProviderBusy(`Too many sign-ins of the provider ${provider.id} are running.`);
    try {
      return await work(AbortSignal.timeout(limits.timeMs));
    } catch (error) {
      throw error instanceof ProviderFailed ? error : new ProviderFailed(codeOf(error), { cause: error });
    } finally {
      release();
    }
  }

  function fetchOver(
    signal: AbortSignal,
    seen: (url: string, answer: GuardedAnswer) => void = () => {},
  ): openid.CustomFetch {
    return async (url, { method, headers, body }) => {
      const answer = await guardedFetch(dispatcher, {
        url,
        method,
        headers: { ...headers, 'accept-encoding': 'identity' },
        body: body === undefined || body === null ? undefined : textOf(body),
        largestBytes: limits.answerBytes,
        signal,
      });
      seen(url, answer);
      return responseOf(answer);
    };
  }

  async function metadataOf({ issuer, clientId }: OpenIdProvider, signal: AbortSignal) {
    const known = documents.metadataOf(issuer);
    if (known) return known;
    const discovered = await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), {
      [openid.customFetch]: fetchOver(signal),
      timeout: limits.timeMs / 1_000,
    });
    const metadata = plain(discovered.serverMetadata());
    if (metadata.issuer !== issuer) throw new ProviderFailed('ISSUER_DIFFERS');
    documents.keepMetadata(issuer, metadata);
    return metadata;
  }

  /** The keys come from memory, unless the token was signed with a key that is not known yet. */
  async function configurationOf(provider: OpenIdProvider, signal: AbortSignal): Promise<openid.Configuration> {
    const { issuer, clientId, clientSecret } = provider;
    const metadata = await metadataOf(provider, signal);
    const methods = metadata.token_endpoint_auth_methods_supported;
    const secret = clientSecret.reveal();
    const isBasic = methods === undefined || methods.includes('client_secret_basic');
    const configuration = new openid.Configuration(
      metadata,
      clientId,
      { [openid.clockTolerance]: clockToleranceSeconds },
      isBasic ? openid.ClientSecretBasic(secret) : openid.ClientSecretPost(secret),
    );
    configuration.timeout = limits.timeMs / 1_000;
    // Without this check the library trusts the TLS connection, and does not read the signature of the token.
    openid.enableNonRepudiationChecks(configuration);
    let keyId: string | undefined;
    const keysUrl = hrefOf(metadata.jwks_uri);
    const overNetwork = fetchOver(signal, (url, { status, body }) => {
      if (hrefOf(url) === hrefOf(metadata.token_endpoint)) keyId = keyIdOfTokenIn(body);
      if (hrefOf(url) === keysUrl && status === 200) documents.keepKeys(issuer, body);
    });
    configuration[openid.customFetch] = async (url, options) => {
      const keys = hrefOf(url) === keysUrl ? documents.keysOf(issuer, keyId) : undefined;
      return keys
        ? responseOf({ status: 200, contentType: 'application/json', body: keys })
        : overNetwork(url, options);
    };
    return configuration;
  }

  return {
    begin: (provider, redirectUri, { state, nonce, verifier }) =>
      within(provider, async (signal) => {
        const configuration = await configurationOf(provider, signal);
        const address = openid.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: provider.scopes,
          state,
          nonce,
          code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        });
        if (address.protocol !== 'https:') throw new ProviderFailed('AUTHORIZATION_ENDPOINT_NOT_HTTPS');
        return address.href;
      }),
    finish: (provider, redirectUri, { state, nonce, verifier }, answer) =>
      within(provider, async (signal) => {
        const configuration = await configurationOf(provider, signal);
        const current = new URL(redirectUri);
        for (const [name, value] of Object.entries(answer))
          if (value !== undefined) current.searchParams.set(name, value);
        const tokens = await openid.authorizationCodeGrant(configuration, current, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (!claims) throw new ProviderFailed('NO_ID_TOKEN');
        return claimsOf(claims, await infoOf(configuration, tokens.access_token, claims));
      }),
    check: (provider) =>
      within(provider, async (signal) => {
        documents.forget(provider.issuer);
        await metadataOf(provider, signal);
      }),
  };
}

/** Many providers leave the address out of the ID token, and name it only in their user info. */
async function infoOf(
  configuration: openid.Configuration,
  accessToken: string,
  claims: openid.IDToken,
): Promise<Readonly<Record<string, unknown>>> {
  const endpoint = configuration.serverMetadata().userinfo_endpoint;
  if (claims['email'] !== undefined || endpoint === undefined) return {};
  return { ...(await openid.fetchUserInfo(configuration, accessToken, claims.sub)) };
}

function claimsOf(claims: openid.IDToken, info: Readonly<Record<string, unknown>>): ProviderClaims {
  const all: Readonly<Record<string, unknown>> = { ...info, ...claims };
  const textOfClaim = (name: string) => {
    const value = all[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: textOfClaim('email'),
    isEmailVerified: isVerified(all),
    name: textOfClaim('name'),
  };
}

/** Entra ID has no `email_verified`. Its optional claim `xms_edov` says whether the owner of the domain was verified. */
function isVerified(claims: Readonly<Record<string, unknown>>): boolean {
  const word = claims['email_verified'] ?? claims['xms_edov'];
  return word === true || word === 'true' || (claims['email_verified'] === undefined && (word === 1 || word === '1'));
}

function responseOf({ status, contentType, body }: { status: number; contentType: string; body: Buffer }): Response {
  // A Response with one of these statuses must not have a body.
  const isBare = status === 204 || status === 205 || status === 304;
  return new Response(isBare ? null : new Uint8Array(body), {
    status: status < 200 ? 502 : status,
    headers: { 'content-type': contentType },
  });
}

function textOf(body: NonNullable<openid.FetchBody>): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString();
  throw new ProviderFailed('UNEXPECTED_BODY');
}

/** @returns the `kid` of the ID token; undefined if there is none. The library checks the token afterwards */
function keyIdOfTokenIn(body: Buffer): string | undefined {
  try {
    const { id_token: token } = JSON.parse(body.toString('utf8')) as { id_token?: string };
    const header = JSON.parse(Buffer.from(token?.split('.')[0] ?? '', 'base64url').toString('utf8')) as {
      kid?: unknown;
    };
    return typeof header.kid === 'string' ? header.kid : undefined;
  } catch {
    return undefined;
  }
}

/** The library may spell an address in another way than the discovery document. */
const hrefOf = (url: string | undefined) => (url !== undefined && URL.canParse(url) ? new URL(url).href : '');

/** The methods of the library's object cannot be copied into another configuration. */
function plain(metadata: openid.ServerMetadata): openid.ServerMetadata {
  return JSON.parse(JSON.stringify(metadata)) as openid.ServerMetadata;
}

function codeOf(error: unknown): string {
  const first = error instanceof Error && 'code' in error ? error.code : undefined;
  const cause = error instanceof Error ? error.cause : undefined;
  const inner = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (first === 'OAUTH_TIMEOUT' || (error instanceof Error && error.name === 'TimeoutError')) return 'TIMEOUT';
  return typeof first === 'string' ? first : typeof inner === 'string' ? inner : 'UNKNOWN';
}
