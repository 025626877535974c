/** Servers of this process: how they begin to listen, and how they end. */
import type { Server } from 'node:http';

/** How long requests in flight may take to end; the longest is a registration's name look-up. */
const drainMs = 15_000;
/** How often connections that have become idle are looked for meanwhile. */
const idleCheckMs = 50;

/** @param port 0 for a free one @returns the port */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  return typeof address === 'object' && address ? address.port : port;
}

/** Takes no more connections, and ends when the requests in flight have, or their time is over. */
export async function drain(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // A connection that a client keeps becomes idle when its request in flight is answered: it would hold the process up.
  const closeIdle = setInterval(() => server.closeIdleConnections(), idleCheckMs);
  const cutOff = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(closeIdle);
  clearTimeout(cutOff);
}
