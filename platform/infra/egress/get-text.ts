/** Fetches a small text over the guarded egress. The caller has checked the host of the address. */
import type { WebhookDispatcher } from './connection-pool.ts';
import { exchange } from './post.ts';

const timeLimitMs = 5_000;
const largestText = 65_536;

/**
 * @param url public https; the caller has checked its host
 * @returns the body of a 200 response, at most 64 KB; redirects are not followed
 * @throws Error for any other response, or none within 5 s. The error contains neither the address nor the body
 */
export async function getText(dispatcher: WebhookDispatcher, url: string): Promise<string> {
  const { origin, pathname, search } = new URL(url);
  const signal = AbortSignal.timeout(timeLimitMs);
  const request = { origin, path: pathname + search, method: 'GET' as const, signal };
  const { head, start, error } = await exchange(dispatcher, request, largestText);
  if (head?.status === 200 && error === undefined) return start.toString('utf8');
  throw new Error(`The text could not be fetched: ${head?.status ?? 'no answer'}`);
}
