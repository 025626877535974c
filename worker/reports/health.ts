/** The worker's HTTP port for operators: `/healthz`, `/readyz` and `/metrics`. */
import { createServer } from 'node:http';
import { register } from 'prom-client';

export interface Health {
  state: () => object;
  /** @returns undefined if the worker is ready, otherwise the reason */
  notReady: () => object | undefined;
}

export async function serveHealth(
  address: { host: string; port: number },
  { state, notReady }: Health,
): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'Content-Type': type }).end(body);
    if (request.url === '/healthz') answer(200, 'application/json', JSON.stringify(state()));
    else if (request.url === '/readyz') {
      const reason = notReady();
      if (reason === undefined) answer(200, 'application/json', '{"status":"ready"}');
      else answer(503, 'application/json', JSON.stringify({ status: 'not_ready', ...reason }));
    } else if (request.url === '/metrics') {
      register.metrics().then(
        (text) => answer(200, register.contentType, text),
        () => answer(503, 'text/plain', 'the backlog cannot be read'),
      );
    } else answer(404, 'application/json', '{"error":{"code":"not_found","message":"There is no such path."}}');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, resolve);
  });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound ? bound.port : address.port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
