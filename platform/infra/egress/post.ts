/** Sends one HTTP POST. Every behaviour of the receiver is a result, not an error (DEL-1, DEL-2). */
import { AssertionError } from 'node:assert';
import { errors, type Dispatcher } from 'undici';
import type { WebhookDispatcher } from './connection-pool.ts';
import { ConnectionFailed } from './egress.ts';

export interface PostRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** The time from the name lookup to the end of the response. */
  timeLimitMs: number;
  excerptBytes: number;
  signal?: AbortSignal | undefined;
}

export interface PostAnswer {
  outcome: 'succeeded' | 'http_error' | 'timeout' | ConnectionFailed['outcome'];
  /** Present only with the outcomes `succeeded` and `http_error`. */
  responseStatus?: number;
  /** The start of the body as text without NUL, at most `excerptBytes` in UTF-8; absent if there was no body. */
  responseExcerpt?: string;
  /** Unchanged. */
  retryAfter?: string;
  /**
   * Set if no response arrived, such as `ECONNREFUSED`, `CERT_HAS_EXPIRED` or `CONNECT_TIMEOUT`. Never contains a host name or an address.
   */
  errorCode?: string;
  /** Whole milliseconds. */
  durationMs: number;
}
type Untimed = Omit<PostAnswer, 'durationMs'>;

/**
 * Sends one request. Redirects are not followed, and bodies are not decompressed.
 *
 * The status decides the outcome, even if reading the body fails: a receiver that answers 2xx has accepted the request, and a retry would
 * only be a duplicate. If the receiver sends more than `excerptBytes`, the connection is closed.
 * @throws the reason of `request.signal`, if it ended the request before the response's head arrived
 * @throws Error only for a fault of this service: a malformed secret or header, no free socket, or a closed dispatcher
 */
export async function post(
  dispatcher: WebhookDispatcher,
  { url, headers, body, timeLimitMs, excerptBytes, signal: ended }: PostRequest,
): Promise<PostAnswer> {
  const startedAt = performance.now();
  const { origin, pathname, search } = new URL(url);
  const limit = AbortSignal.timeout(timeLimitMs);
  const signal = ended ? AbortSignal.any([limit, ended]) : limit;
  const request = { origin, path: pathname + search, method: 'POST' as const, headers, body, signal };
  const { head, start, error, isConnected } = await exchange(dispatcher, request, excerptBytes);
  const answer = head ? answerOfResponse(head, start, excerptBytes) : answerOfFailure(error, limit, ended, isConnected);
  return { ...answer, durationMs: Math.round(performance.now() - startedAt) };
}

interface Exchange {
  /** Absent if no response arrived. */
  head: { status: number; retryAfter: string | undefined } | undefined;
  start: Buffer;
  error: unknown;
  /** True when name resolution, TCP and TLS have succeeded. */
  isConnected: boolean;
}

/** Settles as soon as the result is known, without waiting for undici's cleanup. */
export function exchange(
  dispatcher: WebhookDispatcher,
  request: Parameters<WebhookDispatcher['dispatch']>[0],
  excerptBytes: number,
): Promise<Exchange> {
  const { signal } = request;
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined;
    let head: Exchange['head'];
    // Each chunk refers to a whole read buffer. So a body that arrives byte by byte would keep many buffers in memory.
    const start = Buffer.alloc(excerptBytes);
    let length = 0;

    const settle = (error?: unknown) => {
      signal.removeEventListener('abort', abort);
      resolve({ head, start: start.subarray(0, length), error, isConnected: controller !== undefined });
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
      onResponseStart(_controller, status, headers) {
        // The parser reads impossible statuses, such as 099, as interim responses.
        if (status >= 200) head = { status, retryAfter: [headers['retry-after']].flat()[0]?.trim() };
      },
      onResponseData(_controller, chunk) {
        length += chunk.copy(start, length);
        if (length < start.length) return;
        settle();
        controller?.abort(new Error('The rest of the response is not needed.'));
      },
      onResponseEnd: () => settle(),
      onResponseError: (_controller, error) => settle(error),
    });
  });
}

function answerOfResponse(
  { status, retryAfter }: NonNullable<Exchange['head']>,
  start: Buffer,
  excerptBytes: number,
): Untimed {
  const responseExcerpt = excerptOf(start, excerptBytes);
  return {
    outcome: status < 300 ? 'succeeded' : 'http_error',
    responseStatus: status,
    ...(responseExcerpt !== '' && { responseExcerpt }),
    ...(retryAfter !== undefined && { retryAfter }),
  };
}

/** These are faults of the service, so they must not count against the endpoint. */
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
  isConnected: boolean,
): Untimed {
  if (limit.aborted && error === limit.reason)
    return { outcome: 'timeout', errorCode: isConnected ? 'RESPONSE_TIMEOUT' : 'CONNECT_TIMEOUT' };
  if (ended?.aborted && error === ended.reason) throw error;
  const code = codeOf(error);
  if (code === undefined || faultsOfOurs.has(code)) throw error;
  return { outcome: outcomeOf(error, code), errorCode: code };
}

/** Network errors have a code, except errors of undici's parser. Any other error without a code is a bug. */
function codeOf(error: unknown): string | undefined {
  // Some invalid responses, such as the status 099, fail an assertion of the parser.
  if (error instanceof errors.HTTPParserError || error instanceof AssertionError) return 'HTTP_PARSER';
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function outcomeOf(error: unknown, code: string): PostAnswer['outcome'] {
  if (error instanceof ConnectionFailed) return error.outcome;
  // A TLS 1.3 server refuses a missing client certificate only after the handshake.
  return /^ERR_(SSL|TLS)_/.test(code) ? 'tls_error' : 'connection_error';
}

/** Returns text that Postgres can store. A replacement character has three bytes. */
function excerptOf(bytes: Buffer, excerptBytes: number): string {
  const text = decode(bytes).replaceAll('\0', '\uFFFD');
  return decode(Buffer.from(text).subarray(0, excerptBytes));
}

/** The bytes may end inside a character. `stream` omits it instead of replacing it. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes, { stream: true });
}
