/** A webhook receiver on this machine, with real TLS. It records its requests, and answers as a test says. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { Certificate } from '../stack/certificates.ts';
import { host } from '../stack/ports.ts';

export interface ReceivedRequest {
  /** The first request has the number 1. */
  readonly number: number;
  readonly method: string;
  readonly path: string;
  /** Headers by name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The signature covers these bytes. */
  readonly body: Buffer;
  readonly receivedAt: Date;
}

/** `hang` never answers and leaves the connection open. `drop` closes the connection. */
export type Answer =
  | 'hang'
  | 'drop'
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Buffer;
      readonly delayMs?: number;
    };

export interface ReceiverOptions {
  readonly certificate: Certificate;
  /** Chooses the answer to each complete request. If absent, the receiver answers 200. */
  readonly respond?: (request: ReceivedRequest, number: number) => Answer | Promise<Answer>;
  /** A free port if absent. */
  readonly port?: number;
}

export interface Receiver {
  /** `https://127.0.0.1:<port>`, without a path. */
  readonly url: string;
  readonly port: number;
  /** Oldest first. */
  readonly requests: readonly ReceivedRequest[];
  /** Resolves with the first `count` requests when they have arrived. @throws Error if they have not arrived within the time */
  waitFor(count: number, timeoutMs: number): Promise<readonly ReceivedRequest[]>;
  stop(): Promise<void>;
}

/** Starts a receiver on 127.0.0.1. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const arrivals = new EventEmitter().setMaxListeners(0);

  const server = https.createServer({ ...options.certificate }, (incoming, outgoing) => {
    receive(incoming)
      .then(async (received) => {
        const request: ReceivedRequest = { ...received, number: requests.length + 1 };
        requests.push(request);
        arrivals.emit('request');
        await send((await options.respond?.(request, request.number)) ?? { status: 200 }, outgoing);
      })
      .catch(() => outgoing.destroy());
  });
  // A sender must refuse a bad certificate. That is no error of the receiver.
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;

  return {
    url: `https://${host}:${port}`,
    port,
    requests,
    async waitFor(count, timeoutMs) {
      const signal = AbortSignal.timeout(timeoutMs);
      while (requests.length < count) {
        await EventEmitter.once(arrivals, 'request', { signal }).catch(() => {
          throw new Error(`${requests.length} of ${count} requests arrived within ${timeoutMs} ms.`);
        });
      }
      return requests.slice(0, count);
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Checks the signature by the library that receivers use (SIG-1 to SIG-3). */
export function isSignedWith(secret: string, request: ReceivedRequest): boolean {
  try {
    new Webhook(secret).verify(request.body, { ...request.headers });
    return true;
  } catch {
    return false;
  }
}

async function receive(incoming: IncomingMessage): Promise<Omit<ReceivedRequest, 'number'>> {
  const receivedAt = new Date();
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
  return {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: Buffer.concat(chunks),
    receivedAt,
  };
}

async function send(answer: Answer, outgoing: ServerResponse): Promise<void> {
  if (answer === 'hang') return;
  if (answer === 'drop') {
    outgoing.destroy();
    return;
  }
  if (answer.delayMs !== undefined) await sleep(answer.delayMs);
  outgoing.writeHead(answer.status, answer.headers);
  outgoing.end(answer.body);
}
