/** What a company has before the frontends of its cluster: connections go in turn to those that accept them. */
import { once } from 'node:events';
import net from 'node:net';
import { host } from '../../../../dev/stack/ports.ts';

export interface Balancer {
  /** For TEMPORAL_ADDRESS. */
  readonly address: string;
  stop(): void;
}

/** Starts it on 127.0.0.1. @param ports where the frontends listen, now or later */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const sockets = new Set<net.Socket>();
  let turn = 0;

  /** Ends the other one with it. */
  function keep(socket: net.Socket, other: net.Socket): void {
    sockets.add(socket);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  }

  /** @param left frontends that have not been tried for this connection */
  function pass(near: net.Socket, left: number): void {
    const port = ports[turn++ % ports.length];
    if (left === 0 || port === undefined) return void near.destroy();
    const far = net.connect({ port, host, noDelay: true });
    const next = () => pass(near, left - 1);
    far.once('error', next);
    far.once('connect', () => {
      far.off('error', next);
      if (near.destroyed) return void far.destroy();
      keep(near, far);
      keep(far, near);
      near.pipe(far).pipe(near);
    });
  }

  const server = net.createServer({ noDelay: true }, (near) => {
    near.on('error', () => near.destroy());
    pass(near, ports.length);
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    address: `${host}:${(server.address() as net.AddressInfo).port}`,
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
