/** The listener of `/metrics`. It has its own port, so that the proxy of the public port cannot expose the metrics. */
import { createServer } from 'node:http';
import { register } from 'prom-client';
import { listen } from './listening.ts';
import { secureHeadersOf } from './secure-headers.policy.ts';

export interface MetricsListener {
  port: number;
  /** Aborts running requests, too, because the process ends. */
  stop(): Promise<void>;
}

/** @param config if the port is 0, the listener uses any free port @throws Error EADDRINUSE */
export async function openMetricsListener({
  host,
  metricsPort,
}: {
  host: string;
  metricsPort: number;
}): Promise<MetricsListener> {
  const headers = secureHeadersOf('http://metrics'); // the listener is inside the operator's network
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string) =>
      response.writeHead(status, { ...headers, 'Content-Type': type }).end(body);
    if (request.method !== 'GET' || request.url !== '/metrics')
      answer(404, 'application/json', '{"error":{"code":"not_found","message":"There is no such path."}}');
    else
      register.metrics().then(
        (text) => answer(200, register.contentType, text),
        () => answer(503, 'text/plain', 'the metrics cannot be read'),
      );
  });
  const port = await listen(server, metricsPort, host);
  return {
    port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
