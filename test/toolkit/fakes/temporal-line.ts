/**
 * A proxy to the Temporal of the test run. A test can cut the connections, as in an outage, or stop the traffic on them, as if Temporal
 * hangs.
 */
import { once } from 'node:events';
import net from 'node:net';
import { readConfig } from '../../../config.ts';
import { testStack } from '../stack/stack.ts';

export interface TemporalLine {
  /** For TEMPORAL_ADDRESS. */
  address: string;
  /** Ends all connections, and refuses new connections until `mend`. */
  cut(): void;
  /** Forwards nothing in either direction until `mend`. */
  hold(): void;
  mend(): void;
  stop(): void;
}

export async function startTemporalLine(): Promise<TemporalLine> {
  await testStack();
  const [host = '', port = ''] = readConfig().temporal.address.split(':');
  const sockets = new Set<net.Socket>();
  let isCut = false;

  const server = net.createServer((near) => {
    if (isCut) return void near.destroy();
    const far = net.connect(Number(port), host);
    near.pipe(far).pipe(near);
    const end = () => {
      near.destroy();
      far.destroy();
      sockets.delete(near);
      sockets.delete(far);
    };
    sockets.add(near).add(far);
    for (const socket of [near, far]) socket.on('error', end).on('close', end);
  });
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    address: `127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    cut() {
      isCut = true;
      endAll();
    },
    hold() {
      for (const socket of sockets) socket.pause();
    },
    mend() {
      isCut = false;
      for (const socket of sockets) socket.resume();
    },
    stop() {
      server.close();
      endAll();
    },
  };
}
