/** One attempt: signs the message, posts it, and reads what the answer asks for (DEL-1, DEL-2). */
import type { WebhookDispatcher } from '../../../platform/infra/egress/connection-pool.ts';
import { post, type PostAnswer } from '../../../platform/infra/egress/post.ts';
import { deliveryRules, honouredRetryAfter } from './schedule.policy.ts';
import { signatureHeaders } from './signature.ts';

export interface WebhookPost {
  url: string;
  eventId: string;
  /** The envelope, sent and signed as exactly these characters in UTF-8. */
  body: string;
  /** Newest first; two during a rotation. */
  secrets: readonly string[];
  /** Names the service in `User-Agent`. */
  serviceName: string;
  /** Ends the attempt from our side. */
  signal?: AbortSignal;
  /** Unix milliseconds: dates the signature, and reads a Retry-After that is a date. */
  wallClock?: () => number;
  /** For everything from the name look-up to the end of the response. */
  timeLimitMs?: number;
}

export interface AttemptAnswer extends Omit<PostAnswer, 'retryAfter'> {
  /** What the receiver asked for on 429 or 503, capped; absent where it asked nothing that can be honoured. */
  retryAfterSeconds?: number;
}

/** @returns what makes the request of each attempt, over this way out and in the name of this service */
export const postThrough =
  (dispatcher: WebhookDispatcher, serviceName: string) =>
  (message: Pick<WebhookPost, 'url' | 'eventId' | 'body' | 'secrets'>): Promise<AttemptAnswer> =>
    postWebhook(dispatcher, { ...message, serviceName });

/**
 * Makes one attempt.
 * @throws what `message.signal` was aborted with, when that ended the attempt before the response's head was there
 * @throws Error for faults of ours only: a malformed secret or header, no sockets left, a closed dispatcher
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
  const retryAfterSeconds = status === undefined ? undefined : honouredRetryAfter(status, retryAfter, wallClock());
  return { ...answer, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
}
