/** Makes one attempt: signs the message, posts it, and reads Retry-After from the answer (DEL-1, DEL-2, SIG-1, SIG-2, HOOK-14). */
import { createHmac } from 'node:crypto';
import type { WebhookDispatcher } from '../../../platform/infra/egress/connection-pool.ts';
import { post, type PostAnswer } from '../../../platform/infra/egress/post.ts';
import { deliveryRules, honouredRetryAfter } from '../deliveries/schedule.policy.ts';
import { signingKeyOf } from '../endpoints/secrets.ts';

export interface WebhookPost {
  url: string;
  eventId: string;
  /** The body of the message. Exactly these characters are signed and sent, in UTF-8. */
  body: string;
  /** Newest first. During a rotation there are two. */
  secrets: readonly string[];
  /** The name in the header `User-Agent`. */
  serviceName: string;
  /** Aborts the attempt. */
  signal?: AbortSignal;
  /** Returns Unix milliseconds, for the signature and for a date in Retry-After. */
  wallClock?: () => number;
  /** The time limit from the name lookup to the end of the response. */
  timeLimitMs?: number;
}

export interface AttemptAnswer extends Omit<PostAnswer, 'retryAfter'> {
  /**
   * The wait that the receiver asks for with Retry-After in a response with status 429 or 503, limited to the maximum. Absent if the
   * response has no Retry-After that can be honoured.
   */
  retryAfterSeconds?: number;
}

/** @returns a function that makes the request of one attempt */
export const postThrough =
  (dispatcher: WebhookDispatcher, serviceName: string) =>
  (message: Pick<WebhookPost, 'url' | 'eventId' | 'body' | 'secrets'>): Promise<AttemptAnswer> =>
    postWebhook(dispatcher, { ...message, serviceName });

/**
 * Makes one attempt.
 * @throws the reason of `message.signal`, if it ended the attempt before the head of the response
 * @throws Error only for internal errors: a malformed secret or header, too few sockets, or a closed dispatcher
 */
export async function postWebhook(dispatcher: WebhookDispatcher, message: WebhookPost): Promise<AttemptAnswer> {
  const { wallClock = Date.now, timeLimitMs = deliveryRules.attemptTimeLimitMs, signal } = message;
  const body = Buffer.from(message.body);
  const headers = {
    'content-type': 'application/json',
    'user-agent': `${message.serviceName}-webhooks/1`,
    'accept-encoding': 'identity',
    ...signatureHeaders({ eventId: message.eventId, body, secrets: message.secrets, at: wallClock() }),
  };
  const request = { url: message.url, headers, body, timeLimitMs, excerptBytes: deliveryRules.excerptBytes, signal };
  const { retryAfter, ...answer } = await post(dispatcher, request);
  const { responseStatus: status } = answer;
  const retryAfterSeconds =
    status === undefined || retryAfter === undefined ? undefined : honouredRetryAfter(status, retryAfter, wallClock());
  return { ...answer, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
}

export interface SignatureHeaders {
  'webhook-id': string;
  /** The time of the attempt and not of the fact, in whole Unix seconds. */
  'webhook-timestamp': string;
  /** The signatures: `v1,<base64>` for each secret, newest first, separated by one space. */
  'webhook-signature': string;
}

/**
 * Signs one attempt: HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{raw body}`. The result has one signature for each secret. So
 * during a rotation, a receiver that knows only one of the two secrets accepts the message.
 * @param message.body exactly the sent bytes; text is UTF-8
 * @param message.secrets the secrets, newest first; at least one
 * @param message.at the attempt's time, as a date or in Unix milliseconds
 * @throws TypeError if no secret is given, or if a secret is invalid
 */
export function signatureHeaders(message: {
  eventId: string;
  body: Uint8Array | string;
  secrets: readonly string[];
  at: Date | number;
}): SignatureHeaders {
  const { eventId, body, secrets, at } = message;
  if (secrets.length === 0) throw new TypeError('The webhook has no secret to sign with.');
  const timestamp = String(Math.floor(Number(at) / 1_000));
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', signingKeyOf(secret)).update(`${eventId}.${timestamp}.`).update(body);
    return `v1,${mac.digest('base64')}`;
  });
  return { 'webhook-id': eventId, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
