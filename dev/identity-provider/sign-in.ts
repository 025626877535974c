/** Signs an administrator in at a local provider by HTTP, without a browser: start, form of the provider, exchange. */
import { walkThroughProvider, type ProviderWalk } from './walk.ts';

/** An answer of the API. */
interface ApiAnswer {
  status: number;
  /** `{ data }` or `{ error }` of the contract. */
  body: unknown;
}

export interface ProviderSignIn extends Omit<ProviderWalk, 'url'> {
  /** Sends a POST to the API. */
  post: (path: string, body: object) => Promise<ApiAnswer>;
  /** The provider, or the slug of its club. */
  provider: { provider_id: string } | { club: string };
}

/**
 * @returns the answer of the exchange: a session; `identity_not_joined` with a `join_token`; or `second_factor_required` with a challenge
 * @throws Error if the start fails, or if the provider does not send the browser back
 */
export async function signInAtProvider({ post, provider, ...walk }: ProviderSignIn): Promise<ApiAnswer> {
  const started = await post('/v1/auth/admin/providers/start', { ...provider, redirect_uri: walk.redirectUri });
  if (started.status !== 200) throw new Error(`The sign-in did not start: ${started.status}`);
  const { data } = started.body as { data: { url: string; sign_in_token: string } };
  const answer = await walkThroughProvider({ ...walk, url: data.url });
  return post('/v1/auth/admin/code/exchange', { sign_in_token: data.sign_in_token, ...answer });
}
