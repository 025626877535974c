/** Starts and stops the HTTP servers of this process. */
import type { Server } from 'node:http';

/** Running requests get this time. The slowest one registers a webhook endpoint, because it looks up the host name. */
const drainMs = 15_000;
const idleCheckMs = 50;

/** @param port 0 means any free port @returns the port */
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

/** Refuses new connections, and waits for the requests in flight, at most until their time is over. */
export async function drain(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // A client may keep its connection open. The connection is idle after its last answer, and would delay the end of the process.
  const closeIdle = setInterval(() => server.closeIdleConnections(), idleCheckMs);
  const cutOff = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(closeIdle);
  clearTimeout(cutOff);
}
