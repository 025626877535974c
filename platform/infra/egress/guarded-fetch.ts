/** A `fetch` over the guarded egress, with bounds for the bytes and the time of an answer. It follows no redirect (OIDC-4). */
import type { Dispatcher } from 'undici';
import type { WebhookDispatcher } from './connection-pool.ts';

export interface GuardedRequest {
  url: string;
  method: Dispatcher.HttpMethod;
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
  /** The largest body of the answer, in bytes. */
  largestBytes: number;
  /** Ends the request. It also limits the name lookup and the connection. */
  signal: AbortSignal;
}

/** The body of the answer is longer than the caller allows. */
class AnswerTooLarge extends Error {
  override name = 'AnswerTooLarge';
  code = 'ANSWER_TOO_LARGE';
}

/** The answer, completely read. Encoded bodies are not decoded, because the request does not ask for an encoding. */
export interface GuardedAnswer {
  status: number;
  contentType: string;
  body: Buffer;
}

/**
 * Sends one request.
 * @throws ConnectionFailed, AnswerTooLarge, the reason of the signal, or an error of the connection
 */
export function guardedFetch(dispatcher: WebhookDispatcher, request: GuardedRequest): Promise<GuardedAnswer> {
  const { url, method, headers, body, largestBytes, signal } = request;
  const { origin, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let status = 0;
    let contentType = '';
    const chunks: Buffer[] = [];
    let length = 0;

    const end = (settle: () => void) => {
      signal.removeEventListener('abort', abort);
      settle();
    };
    const fail = (error: Error) => {
      end(() => reject(error));
      controller?.abort(new Error('The request is over.'));
    };
    const abort = () => fail(signal.reason as Error);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort);

    const options = { origin, path: pathname + search, method, headers, signal };
    dispatcher.dispatch(
      { ...options, ...(body !== undefined && { body }) },
      {
        onRequestStart(started) {
          controller = started;
          if (signal.aborted) abort();
        },
        onResponseStart(_controller, code, fields) {
          if (code < 200) return;
          status = code;
          contentType = [fields['content-type']].flat()[0] ?? '';
        },
        onResponseData(_controller, chunk) {
          length += chunk.length;
          if (length > largestBytes) return fail(new AnswerTooLarge('The answer is too large.'));
          // A copy, because a chunk refers to a whole read buffer.
          chunks.push(Buffer.from(chunk));
        },
        onResponseEnd: () => end(() => resolve({ status, contentType, body: Buffer.concat(chunks, length) })),
        onResponseError: (_controller, error) => end(() => reject(error)),
      },
    );
  });
}
