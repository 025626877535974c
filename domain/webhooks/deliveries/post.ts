/** One attempt on the wire: signs, posts, and returns the outcome (DEL-1, DEL-2). */
import { AssertionError } from 'node:assert';
import { errors, type Dispatcher } from 'undici';
import type { WebhookDispatcher } from '../../../platform/infra/egress/connections.ts';
import { ConnectionFailed } from '../../../platform/infra/egress/egress.ts';
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

export interface AttemptAnswer {
  outcome: 'succeeded' | 'http_error' | 'timeout' | 'connection_error' | 'tls_error' | 'dns_error' | 'address_refused';
  /** Present where a whole head of a response arrived: always with `succeeded` and `http_error`, never otherwise. */
  responseStatus?: number;
  /** Start of the response's body as text without NUL, at most 2 KB in UTF-8; absent where there was none. */
  responseExcerpt?: string;
  /** What the receiver asked for on 429 or 503, capped; absent where it asked nothing that can be honoured. */
  retryAfterSeconds?: number;
  /** Where no response arrived: the precise code, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`. Holds no name or address. */
  errorCode?: string;
  /** Whole milliseconds. */
  durationMs: number;
}

/** @returns what makes the request of each attempt, over this way out and in the name of this service */
export const postThrough =
  (dispatcher: WebhookDispatcher, serviceName: string) =>
  (message: Pick<WebhookPost, 'url' | 'eventId' | 'body' | 'secrets'>): Promise<AttemptAnswer> =>
    postWebhook(dispatcher, { ...message, serviceName });

/**
 * Makes one attempt. A redirect is an answer like any other and is not followed; nothing is ever decompressed.
 *
 * The status decides. Once a response's head is there the attempt is `succeeded` or `http_error`, whatever becomes of the
 * body: a receiver that has said 2xx has accepted, and sending again because its body drips or breaks off would only make a
 * duplicate. The body is read for people, up to 2 KB and within the same limit; a connection that brings more is closed.
 * @throws what `post.signal` was aborted with, when that ended the attempt before the response's head was there
 * @throws Error for faults of ours only: a malformed secret or header, no sockets left, a closed dispatcher
 */
export async function postWebhook(dispatcher: WebhookDispatcher, post: WebhookPost): Promise<AttemptAnswer> {
  const { wallClock = Date.now, timeLimitMs = deliveryRules.attemptTimeLimitMs } = post;
  const startedAt = performance.now();
  const url = new URL(post.url);
  const body = Buffer.from(post.body);
  const limit = AbortSignal.timeout(timeLimitMs);
  const signal = post.signal ? AbortSignal.any([limit, post.signal]) : limit;

  const request = {
    origin: url.origin,
    path: url.pathname + url.search,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': `${post.serviceName}-webhooks/1`,
      'accept-encoding': 'identity',
      ...signatureHeaders({ eventId: post.eventId, body, secrets: post.secrets, at: wallClock() }),
    },
    body,
    signal,
  };
  const { head, start, error } = await exchange(dispatcher, request);
  const answer = head ? answerOfResponse(head, start, wallClock()) : answerOfFailure(error, limit, post.signal);
  return { ...answer, durationMs: Math.round(performance.now() - startedAt) };
}

/** Informational responses (1xx) that are passed over: more are a flood, and reading one for 15 s would cost the others. */
const mostInformational = 100;

interface Exchange {
  /** Absent where none arrived. */
  head: { status: number; retryAfter: string | undefined } | undefined;
  /** The first bytes of the body. */
  start: Buffer;
  /** What ended the exchange before its time. */
  error: unknown;
}

/** Sends the request and settles as soon as there is nothing more to learn, however long undici takes to clean up. */
function exchange(
  dispatcher: WebhookDispatcher,
  request: Parameters<WebhookDispatcher['dispatch']>[0],
): Promise<Exchange> {
  const { signal } = request;
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined;
    let head: Exchange['head'];
    let informational = 0;
    // One buffer of our own: a chunk is a view of a whole read, and a body that drips would hold one read a byte.
    const start = Buffer.alloc(deliveryRules.excerptBytes);
    let length = 0;

    const settle = (error?: unknown) => {
      signal.removeEventListener('abort', abort);
      resolve({ head, start: start.subarray(0, length), error });
    };
    const abort = () => {
      settle(signal.reason);
      controller?.abort(new Error('The attempt is over.'));
    };
    signal.addEventListener('abort', abort);

    dispatcher.dispatch(request, {
      onRequestStart(started) {
        controller = started;
        if (signal.aborted) abort();
      },
      onResponseStart(started, status, headers) {
        if (status >= 200) head = { status, retryAfter: [headers['retry-after']].flat()[0]?.trim() };
        else if (++informational > mostInformational) started.abort(new errors.HeadersOverflowError());
      },
      onResponseData(_controller, chunk) {
        length += chunk.copy(start, length);
        if (length < start.length) return;
        settle();
        controller?.abort(new Error('The rest of the response is not wanted.'));
      },
      onResponseEnd: () => settle(),
      onResponseError: (_controller, error) => settle(error),
    });
  });
}

function answerOfResponse(
  { status, retryAfter }: NonNullable<Exchange['head']>,
  start: Buffer,
  now: number,
): Omit<AttemptAnswer, 'durationMs'> {
  const responseExcerpt = excerptOf(start);
  const retryAfterSeconds = honouredRetryAfter(status, retryAfter, now);
  return {
    outcome: status < 300 ? 'succeeded' : 'http_error',
    responseStatus: status,
    ...(responseExcerpt !== '' && { responseExcerpt }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

/** Codes that accuse us, not the receiver: recording one as an attempt's outcome would count against an innocent endpoint. */
const faultsOfOurs: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'ENOBUFS',
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
]);

function answerOfFailure(
  error: unknown,
  limit: AbortSignal,
  ended: AbortSignal | undefined,
): Omit<AttemptAnswer, 'durationMs'> {
  if (limit.aborted && error === limit.reason) return { outcome: 'timeout' };
  if (ended?.aborted && error === ended.reason) throw error;
  const code = codeOf(error);
  if (code === undefined || faultsOfOurs.has(code)) throw error;
  return { outcome: outcomeOf(error, code), errorCode: code };
}

/** Every error of a network has a code, but for undici's parser's. One without is a mistake in the program. */
function codeOf(error: unknown): string | undefined {
  // Some nonsense, such as the status 099, meets an assertion behind the parser.
  if (error instanceof errors.HTTPParserError || error instanceof AssertionError) return 'HTTP_PARSER';
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function outcomeOf(error: unknown, code: string): AttemptAnswer['outcome'] {
  if (error instanceof ConnectionFailed) return error.outcome;
  // A TLS alert can come after the handshake: TLS 1.3 refuses a missing client certificate that late.
  return /^ERR_(SSL|TLS)_/.test(code) ? 'tls_error' : 'connection_error';
}

/** Bytes of any kind as text that Postgres can hold, again at most as many bytes long: a replacement character counts three. */
function excerptOf(bytes: Buffer): string {
  const text = decode(bytes).replaceAll('\0', '\uFFFD');
  return decode(Buffer.from(text).subarray(0, deliveryRules.excerptBytes));
}

/** `stream`: a character that the cut went through is left out, not replaced. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes, { stream: true });
}
