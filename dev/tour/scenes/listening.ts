/** Scene: a program receives an event of the club on this machine, by the command `listen` of the SDK. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../../sdk/src/commands/listen/listen.ts';
import { secretOf } from '../../../sdk/src/commands/listen/secret.ts';
import { webhooks, type WebhookEvent } from '../../../sdk/src/index.ts';
import { Problem } from '../../problem.ts';
import { host } from '../../stack/ports.ts';
import type { Scene } from '../scene.ts';

const eventType = 'access.revoked';

/**
 * @param key the API key of the program, with the scope `events:read`
 * @param revoke ends the access of a student
 * @throws Problem if the event does not arrive, or its signature is wrong
 */
export async function programListens(
  { environment, begin, tell, say }: Scene,
  { clubId, key, revoke }: { clubId: string; key: string; revoke: () => Promise<unknown> },
  section: number,
): Promise<void> {
  begin(section, 'program.listens');
  const receiver = await startLocalReceiver(key);
  const isListening = Promise.withResolvers<void>();
  const service = `http://${host}:${environment['API_PORT']}`;
  const options = ['--forward-to', receiver.url, '--events', eventType, '--expect', '1', '--timeout', '60s'];
  const listening = listen(['--api-url', service, '--club', clubId, ...options], {
    out: () => undefined,
    error: (text) => text.startsWith('Listening') && isListening.resolve(),
    stdin: Readable.from([]),
    env: { CLUB_LEARNING_API_KEY: key },
    signal: new AbortController().signal,
  });
  try {
    say(`   npx @club-learning/sdk listen ${options.slice(0, 4).join(' ')}`);
    await Promise.race([isListening.promise, listening]);
    const start = performance.now();
    await revoke();
    if ((await listening) !== 0) throw new Problem(`The event ${eventType} did not reach the receiver.`);
    const { type } = await receiver.event;
    tell('program.heard', { type, ms: Math.round(performance.now() - start) });
  } finally {
    receiver.stop();
  }
}

/** Starts a receiver that accepts events, and verifies the first one. */
async function startLocalReceiver(
  key: string,
): Promise<{ url: string; event: Promise<WebhookEvent>; stop: () => void }> {
  const first = Promise.withResolvers<WebhookEvent>();
  const server = http.createServer((request, response) => {
    void buffer(request)
      .then((body) => first.resolve(webhooks.verify(request.headers, body, secretOf(key))))
      .catch(first.reject)
      .finally(() => response.writeHead(204).end());
  });
  await once(server.listen(0, host), 'listening');
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://localhost:${(server.address() as AddressInfo).port}/hooks`, event: first.promise, stop };
}
