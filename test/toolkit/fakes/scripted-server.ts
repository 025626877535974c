/**
 * An HTTP server that answers as a script says, and records the requests. It simulates the service and broken connections to the service.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ScriptedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** Headers by name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly receivedAt: number;
}

/**
 * `drop`: the connection is closed without an answer. `hang`: there is no answer. `cut`: the connection is closed in the middle of the
 * body. `silent`: the body begins and never ends.
 */
export type ScriptedAnswer =
  | 'drop'
  | 'hang'
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** An object is sent as JSON, a text as it is. */
      readonly body?: object | string;
      readonly ending?: 'cut' | 'silent';
    };

export interface ScriptedServer {
  /** `http://127.0.0.1:<port>` */
  readonly base: string;
  readonly requests: readonly ScriptedRequest[];
  stop(): Promise<void>;
}

/** @param respond decides the answer by the request and its number, from 1 */
export async function startScriptedServer(
  respond: (request: ScriptedRequest, number: number) => ScriptedAnswer,
): Promise<ScriptedServer> {
  const requests: ScriptedRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    const receivedAt = performance.now();
    textOf(incoming)
      .then((body) => {
        const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)] as const);
        const { method = '', url = '' } = incoming;
        const request = { method, url, headers: Object.fromEntries(headers), body, receivedAt };
        send(outgoing, respond(request, requests.push(request)));
      })
      .catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function send(outgoing: ServerResponse, answer: ScriptedAnswer): void {
  if (answer === 'hang') return;
  if (answer === 'drop') {
    outgoing.destroy();
    return;
  }
  const { status = 200, headers = {}, body = {}, ending } = answer;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/event-stream' : 'application/json';
  outgoing.writeHead(status, { 'content-type': type, ...headers });
  if (ending === undefined) outgoing.end(text);
  else if (ending === 'silent') outgoing.write(text);
  else outgoing.write(text.slice(0, text.length / 2), () => setTimeout(() => outgoing.destroy(), 20));
}
