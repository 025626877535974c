/** Posts one delivery as the service does: a connection of its own, no redirects, and one time limit for all of it (DEL-1). */
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { SignedDelivery } from './deliveries.ts';

/** The answer of the receiver, or the reason why there is none. */
export interface Answer {
  /** Undefined if no answer arrived. */
  readonly status?: number;
  /** Why no answer arrived: `timeout`, or the code of the connection, such as `ECONNREFUSED`. */
  readonly problem?: string;
  /** Milliseconds from the start of the request to the end of the answer. */
  readonly ms: number;
  /** The first characters of the answer, in one line. */
  readonly excerpt: string;
  readonly location?: string;
  /** The clock of the receiver minus this clock in milliseconds, if the answer has a date. */
  readonly clockMs?: number;
}

/** The service stores as many bytes of an answer, and reads no more (DEL-8). */
const excerptBytes = 2_048;
const shownCharacters = 120;

/**
 * @param timeLimitMs the milliseconds that the whole request may take
 * @returns the answer; a failed connection and a missed time limit are answers without a status
 * @throws the reason of `signal` if it aborts
 */
export async function post(
  url: URL,
  delivery: SignedDelivery,
  { timeLimitMs, signal }: { readonly timeLimitMs: number; readonly signal: AbortSignal },
): Promise<Answer> {
  const startedAt = performance.now();
  const elapsed = () => Math.round(performance.now() - startedAt);
  const limit = AbortSignal.timeout(timeLimitMs);
  try {
    const response = await send(url, delivery, AbortSignal.any([limit, signal]));
    const excerpt = await startOf(response);
    const { statusCode: status = 0, headers } = response;
    const date = Date.parse(headers.date ?? '');
    return {
      status,
      ms: elapsed(),
      excerpt,
      ...(headers.location !== undefined && { location: headers.location }),
      ...(!Number.isNaN(date) && { clockMs: date - Date.now() }),
    };
  } catch (error) {
    signal.throwIfAborted();
    return { problem: limit.aborted ? 'timeout' : codeOf(error), ms: elapsed(), excerpt: '' };
  }
}

function send(url: URL, { headers, body }: SignedDelivery, signal: AbortSignal): Promise<IncomingMessage> {
  const bytes = Buffer.from(body);
  const options = {
    method: 'POST',
    agent: false,
    signal,
    headers: {
      'content-type': 'application/json',
      'content-length': bytes.length,
      'user-agent': 'club-learning-conformance-webhooks/1',
      'accept-encoding': 'identity',
      ...headers,
    },
  } as const;
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? https : http).request(url, options);
    request.once('response', resolve);
    // The listener stays: a receiver may cut the connection after its answer, while the body is still being sent.
    request.on('error', reject);
    request.end(bytes);
  });
}

/** Reads the first bytes of an answer, and cuts the connection after them. */
async function startOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= excerptBytes) break;
  }
  // Control characters could move the cursor of a terminal.
  const line = Buffer.concat(chunks)
    .toString('utf8')
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return line.slice(0, shownCharacters).replace(/\p{Cs}$/u, '');
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
