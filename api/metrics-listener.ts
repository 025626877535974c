/** The listener of `/metrics` in an API process: apart from the public ports, so that no proxy can lead callers there. */
import { createServer } from 'node:http';
import { register } from 'prom-client';
import { listen } from './listening.ts';
import { secureHeadersOf } from './secure-headers.policy.ts';

export interface MetricsListener {
  port: number;
  /** Also cuts scrapes under way: what they would tell is of a process that ends. */
  stop(): Promise<void>;
}

/** @param config with port 0, a free one is taken @throws Error EADDRINUSE */
export async function openMetricsListener({
  host,
  metricsPort,
}: {
  host: string;
  metricsPort: number;
}): Promise<MetricsListener> {
  const headers = secureHeadersOf('http://metrics'); // inside of the operator's network
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
