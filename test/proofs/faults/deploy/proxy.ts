/** What stands before the API of an installation: it passes requests on to a process that says that it is ready. */
import { Agent, createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { host } from '../../../../dev/stack/ports.ts';

export interface Proxy {
  /** Where callers come. */
  readonly url: string;
  /** Requests that were passed on and answered. */
  readonly answered: number;
  /** A line each: requests that no process took, that were answered with a 5xx, or whose answer broke off. Streams may end early. */
  readonly refused: readonly string[];
  /** From now on it asks this process, too. @param api its address */
  add(api: string): void;
  /** Says, in the place of its own looks, whether this process is ready. */
  tell(api: string, isReady: boolean): void;
  remove(api: string): void;
  stop(): Promise<void>;
}

/** How often it asks each process; a load balancer asks every second or two. */
const lookEveryMs = 250;
/** A process that does not answer so often in a row is taken for gone; one that says that it is not ready, at once. */
const silencesAtMost = 3;
const answerWithinMs = 5_000;

/** Starts it on 127.0.0.1. @param looks whether it asks the processes itself; else it is told */
export async function startProxy({ looks: looksItself = true } = {}): Promise<Proxy> {
  const ready = new Map<string, boolean>();
  const refused: string[] = [];
  const agent = new Agent({ keepAlive: true });
  let answered = 0;
  let turn = 0;

  function pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const targets = [...ready].filter(([, isReady]) => isReady).map(([target]) => target);
    const target = targets[turn++ % targets.length];
    const refuse = (why: string) => {
      refused.push(`${incoming.method} ${incoming.url?.split('?')[0]}: ${why}`);
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end();
    };
    if (target === undefined) return refuse('no process is ready');
    const { method, headers, url = '/' } = incoming;
    const onward = send(new URL(url, target), { method, headers, agent }, (answer) => {
      const { statusCode = 502 } = answer;
      const isStream = answer.headers['content-type']?.startsWith('text/event-stream') ?? false;
      outgoing.writeHead(statusCode, answer.headers);
      const words: Buffer[] = [];
      if (statusCode >= 500) answer.on('data', (chunk: Buffer) => words.push(chunk));
      answer.pipe(outgoing);
      answer.on('error', (error) => (isStream ? outgoing.destroy() : refuse(error.message)));
      answer.on('end', () => {
        if (statusCode >= 500)
          refused.push(
            `${method} ${url.split('?')[0]}: ${statusCode} ${Buffer.concat(words).toString().slice(0, 200)}`,
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
    const said = await fetch(`${target}/readyz`, { signal: AbortSignal.timeout(answerWithinMs) }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.ok;
      },
      () => undefined,
    );
    looks.delete(target);
    silences.set(target, said === undefined ? (silences.get(target) ?? 0) + 1 : 0);
    if (!ready.has(target)) return;
    if (said !== undefined) ready.set(target, said);
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
