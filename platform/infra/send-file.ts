/** The body of a request on its way to a signed address of the store: no byte of it waits in memory. */
import http from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import type { SignedRequest } from './object-store.ts';

/** Neither the sender nor the store is silent for so long; the listener ends silent senders before. */
const silenceMs = 150_000;

/** `exists`: a file is there already, and stays as it is. */
export type SentFile = 'stored' | 'exists';

/**
 * Sends as many bytes as the address takes. The body is left as it is: who has it may still answer its sender.
 * @throws the signal's reason; Error where the body breaks off, or the store does not take it
 */
export async function sendFile(to: SignedRequest, body: Readable, signal: AbortSignal): Promise<SentFile> {
  signal.throwIfAborted();
  if (body.destroyed) throw new Error('The sender has gone before the first byte of the file');
  const { request } = to.url.startsWith('https:') ? https : http;
  const sending = request(to.url, { method: 'PUT', headers: to.headers });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const onAbort = () => reject(signal.reason as Error);
  const onClose = () => {
    if (!body.readableEnded) reject(new Error('The sender has gone before the end of the file'));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  body.once('close', onClose).once('error', reject);
  sending
    .setTimeout(silenceMs, () => reject(new Error(`The store has been silent for ${silenceMs} ms`)))
    .once('error', reject)
    .once('response', (answer) => {
      // An answer that comes before the last byte is a refusal: nobody waits for its end.
      answer.on('error', () => undefined).resume();
      resolve(answer.statusCode ?? 0);
    });
  body.pipe(sending);
  let status: number | undefined;
  try {
    status = await promise;
    if (status === 412) return 'exists';
    if (status !== 200) throw new Error(`The store has answered ${status} to a file`);
    return 'stored';
  } finally {
    signal.removeEventListener('abort', onAbort);
    body.off('close', onClose).off('error', reject).unpipe(sending);
    if (status === undefined || !sending.writableFinished) breakOff(sending);
  }
}

/** Some stores take the end of a connection for the end of the file, and keep what has come of it. A reset is an error to all of them. */
function breakOff(sending: http.ClientRequest): void {
  sending.on('error', () => undefined);
  const { socket } = sending;
  if (socket && !('encrypted' in socket)) socket.resetAndDestroy(); // the end of TLS without its farewell is an error as well
  sending.destroy();
}
