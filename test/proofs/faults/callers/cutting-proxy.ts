/** A proxy before the API that cuts some connections: before the request reaches the API, in the middle of its body, or before its answer. */
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { host } from '../../../../dev/stack/ports.ts';

type Cut = 'before' | 'body' | 'answer';

const shares: readonly { cut: Cut; share: number }[] = [
  { cut: 'before', share: 0.02 },
  { cut: 'body', share: 0.03 },
  { cut: 'answer', share: 0.15 },
];

interface CuttingProxy {
  readonly url: string;
  readonly cuts: number;
  stop(): Promise<void>;
}

export async function startCuttingProxy(api: string): Promise<CuttingProxy> {
  let cuts = 0;
  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const cut = cutOf(Math.random());
    if (cut) cuts += 1;
    if (cut === 'before') return void outgoing.destroy();
    const { method, url = '/', headers } = incoming;
    const onward = send(new URL(url, api), { method, headers }, (answer) => {
      if (cut === 'answer') {
        answer.resume();
        answer.on('end', () => outgoing.destroy());
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    onward.on('error', () => outgoing.destroy());
    if (cut !== 'body') return void onward.end(body);
    onward.write(body.subarray(0, body.length / 2), () => onward.destroy());
  }

  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cuts;
    },
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** @param chance a number from 0 up to 1 */
function cutOf(chance: number): Cut | undefined {
  let sum = 0;
  return shares.find(({ share }) => chance < (sum += share))?.cut;
}
