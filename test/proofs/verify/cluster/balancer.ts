/** A load balancer in front of the Temporal cluster. It distributes connections over the nodes that accept them. */
import { once } from 'node:events';
import net from 'node:net';
import { host } from '../../../../dev/stack/ports.ts';

export interface Balancer {
  /** The address for TEMPORAL_ADDRESS. */
  readonly address: string;
  stop(): void;
}

/** @param ports the ports of the frontends, which may start later */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const sockets = new Set<net.Socket>();
  let connectionCount = 0;

  /** Ends the other socket of a pair when this socket ends. */
  function track(socket: net.Socket, other: net.Socket): void {
    sockets.add(socket);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  }

  function pass(near: net.Socket, untriedCount: number): void {
    const port = ports[connectionCount++ % ports.length];
    if (untriedCount === 0 || port === undefined) return void near.destroy();
    const far = net.connect({ port, host, noDelay: true });
    const next = () => pass(near, untriedCount - 1);
    far.once('error', next);
    far.once('connect', () => {
      far.off('error', next);
      if (near.destroyed) return void far.destroy();
      track(near, far);
      track(far, near);
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
