/** Streams a body to a signed address of the store, without buffering it in memory. */
import http from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import type { SignedRequest } from './object-store.ts';

/** The file listener disconnects a silent sender earlier. */
const silenceMs = 150_000;

/** `exists`: the file already existed and was not changed. */
export type SentFile = 'stored' | 'exists';

/**
 * The connection of the body's sender stays open, so that the caller can still answer.
 * @throws the signal's reason; Error if the body breaks off, or the store refuses it
 */
export async function sendFile(to: SignedRequest, body: Readable, signal: AbortSignal): Promise<SentFile> {
  signal.throwIfAborted();
  if (body.destroyed) throw new Error('The sender disconnected before the first byte of the file');
  const { request } = to.url.startsWith('https:') ? https : http;
  const sending = request(to.url, { method: 'PUT', headers: to.headers });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const onAbort = () => reject(signal.reason as Error);
  const onClose = () => {
    if (!body.readableEnded) reject(new Error('The sender disconnected before the end of the file'));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  body.once('close', onClose).once('error', reject);
  sending
    .setTimeout(silenceMs, () => reject(new Error(`The store sent nothing for ${silenceMs} ms`)))
    .once('error', reject)
    .once('response', (answer) => {
      // An answer before the last byte is a refusal, so only the status matters.
      answer.on('error', () => undefined).resume();
      resolve(answer.statusCode ?? 0);
    });
  body.pipe(sending);
  let status: number | undefined;
  try {
    status = await promise;
    if (status === 412) return 'exists';
    if (status !== 200) throw new Error(`The store answered ${status} to an upload`);
    return 'stored';
  } finally {
    signal.removeEventListener('abort', onAbort);
    body.off('close', onClose).off('error', reject).unpipe(sending);
    if (status === undefined || !sending.writableFinished) breakOff(sending);
  }
}

/** Some stores treat the end of a connection as the end of the file. All treat a reset as an error. */
function breakOff(sending: http.ClientRequest): void {
  sending.on('error', () => undefined);
  const { socket } = sending;
  if (socket && !('encrypted' in socket)) socket.resetAndDestroy(); // A TLS connection that ends without a close message is an error as well.
  sending.destroy();
}
