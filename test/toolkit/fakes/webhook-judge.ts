/** A receiver of webhooks on this machine. The library `standardwebhooks` judges each delivery. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

interface ReceivedEvent {
  id: string;
  type: string;
  /** The body, byte for byte. */
  body: string;
  isGenuine: boolean;
}

export interface WebhookJudge {
  url: string;
  /** All deliveries so far, in their order. */
  received: readonly ReceivedEvent[];
  stop(): Promise<void>;
}

interface JudgeOptions {
  /** Chooses the status of the answer; 204 if absent. */
  statusOf?: (event: ReceivedEvent, count: number) => number;
  /** The time before each answer, in milliseconds. */
  answersAfterMs?: number;
  port?: number;
}

/** @param secret the secret that the deliveries must be signed with */
export async function startJudge(
  secret: string,
  { statusOf = () => 204, answersAfterMs = 0, port = 0 }: JudgeOptions = {},
): Promise<WebhookJudge> {
  const received: ReceivedEvent[] = [];
  const webhook = new Webhook(secret);
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const header = (name: string) => String(request.headers[name] ?? '');
      let isGenuine = true;
      try {
        webhook.verify(body, {
          'webhook-id': header('webhook-id'),
          'webhook-timestamp': header('webhook-timestamp'),
          'webhook-signature': header('webhook-signature'),
        });
      } catch {
        isGenuine = false;
      }
      const { id, type } = JSON.parse(body) as { id: string; type: string };
      const event = { id, type, body, isGenuine: isGenuine && id === header('webhook-id') };
      received.push(event);
      setTimeout(() => response.writeHead(statusOf(event, received.length)).end(), answersAfterMs);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
