/** A proxy to Postgres that delays every answer, so every statement takes longer. */
import { once } from 'node:events';
import net from 'node:net';

export interface DelayLine {
  /** For DATABASE_URL. */
  url: string;
  /** In milliseconds; a change applies from now on. */
  delayMs: number;
  stop(): void;
}

/** @param url of the real Postgres */
export async function startDelayLine(url: string): Promise<DelayLine> {
  const address = new URL(url);
  const real = { port: Number(address.port), host: address.hostname };
  const sockets = new Set<net.Socket>();
  const line: DelayLine = {
    url: '',
    delayMs: 0,
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  const server = net.createServer((near) => {
    const far = net.connect(real);
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
      socket.setNoDelay(true);
    }
    near.pipe(far);
    // Timers with equal delays end in the order of their start. So the bytes stay in order unless the delay changes.
    far.on('data', (bytes) => setTimeout(() => near.destroyed || near.write(bytes), line.delayMs));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  address.hostname = '127.0.0.1';
  address.port = String((server.address() as net.AddressInfo).port);
  line.url = address.href;
  return line;
}
