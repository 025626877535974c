/** Verifies webhooks (SDK-7). */
import { Webhook } from 'standardwebhooks';
import type { WebhookEvents } from './generated/events.ts';

/** The body of a webhook. `type` tells which one; a later version may send types that are not in this union, so keep a `default`. */
export type WebhookEvent = WebhookEvents[keyof WebhookEvents];

type IncomingHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The request is not from the service, was changed, or is older than 5 minutes. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

/**
 * Verifies signature and time, and parses the body.
 * @param headers `Headers`, or Node's `request.headers`
 * @param rawBody the bytes as they arrived, or their text; never a body that was parsed and printed again
 * @param secret the endpoint's secret, `whsec_…`
 * @throws WebhookVerificationError if the request must not be trusted
 */
export function verify(headers: IncomingHeaders, rawBody: string | Uint8Array, secret: string): WebhookEvent {
  const webhook = new Webhook(secret);
  try {
    const text = typeof rawBody === 'string' ? rawBody : decoder.decode(rawBody);
    return webhook.verify(text, textsOf(headers)) as WebhookEvent;
  } catch (error) {
    throw new WebhookVerificationError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** The signature covers all bytes, also a byte-order mark. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textsOf(headers: IncomingHeaders): Record<string, string> {
  const entries = headers instanceof Headers ? [...headers.entries()] : Object.entries(headers);
  return Object.fromEntries(entries.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])));
}
