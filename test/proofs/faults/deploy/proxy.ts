/** A load balancer in front of an installation: it forwards each request to an API process that reports readiness. */
import { Agent, createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { host } from '../../../../dev/stack/ports.ts';

export interface Proxy {
  readonly url: string;
  /** The number of forwarded requests that got an answer. */
  readonly answered: number;
  /** A line for each request that found no ready process, got a 5xx, or got no answer. A stream may end early. */
  readonly refused: readonly string[];
  /** @param api its URL */
  add(api: string): void;
  tell(api: string, isReady: boolean): void;
  remove(api: string): void;
  stop(): Promise<void>;
}

/** A load balancer probes every second or two. */
const lookEveryMs = 250;
/** After this number of silent probes the proxy sends a process no more requests. The answer "not ready" has this effect immediately. */
const silencesAtMost = 3;
const answerWithinMs = 5_000;

/** @param looks whether the proxy asks each process if it is ready; if not, the caller must report it with `tell` */
export async function startProxy({ looks: looksItself = true } = {}): Promise<Proxy> {
  const ready = new Map<string, boolean>();
  const refused: string[] = [];
  const agent = new Agent({ keepAlive: true });
  let answered = 0;
  let requestCount = 0;

  function pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const targets = [...ready].filter(([, isReady]) => isReady).map(([target]) => target);
    const target = targets[requestCount++ % targets.length];
    const refuse = (reason: string) => {
      refused.push(`${incoming.method} ${incoming.url?.split('?')[0]}: ${reason}`);
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end();
    };
    if (target === undefined) return refuse('no process is ready');
    const { method, headers, url = '/' } = incoming;
    const onward = send(new URL(url, target), { method, headers, agent }, (answer) => {
      const { statusCode = 502 } = answer;
      const isStream = answer.headers['content-type']?.startsWith('text/event-stream') ?? false;
      outgoing.writeHead(statusCode, answer.headers);
      const bodyChunks: Buffer[] = [];
      if (statusCode >= 500) answer.on('data', (chunk: Buffer) => bodyChunks.push(chunk));
      answer.pipe(outgoing);
      answer.on('error', (error) => (isStream ? outgoing.destroy() : refuse(error.message)));
      answer.on('end', () => {
        if (statusCode >= 500)
          refused.push(
            `${method} ${url.split('?')[0]}: ${statusCode} ${Buffer.concat(bodyChunks).toString().slice(0, 200)}`,
          );
        else answered++;
      });
    });
    onward.on('error', (error) => refuse(error.message));
    incoming.pipe(onward);
    outgoing.on('close', () => onward.destroy());
  }

  const silences = new Map<string, number>();
  const looks = new Set<string>();
  const look = async (target: string) => {
    if (looks.has(target)) return;
    looks.add(target);
    const isReady = await fetch(`${target}/readyz`, { signal: AbortSignal.timeout(answerWithinMs) }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.ok;
      },
      () => undefined,
    );
    looks.delete(target);
    silences.set(target, isReady === undefined ? (silences.get(target) ?? 0) + 1 : 0);
    if (!ready.has(target)) return;
    if (isReady !== undefined) ready.set(target, isReady);
    else if ((silences.get(target) ?? 0) >= silencesAtMost) ready.set(target, false);
  };
  const looking = setInterval(() => {
    if (!looksItself) return;
    for (const target of ready.keys()) void look(target);
  }, lookEveryMs);

  const server = createServer(pass);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    get answered() {
      return answered;
    },
    refused,
    add: (api) => void ready.set(api, false),
    tell: (api, isReady) => void ready.set(api, isReady),
    remove: (api) => void ready.delete(api),
    stop() {
      clearInterval(looking);
      agent.destroy();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
