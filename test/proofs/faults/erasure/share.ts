/** Lets the builders of the tests (test/toolkit/builders) work on the stack of a proof. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileEnded } from '../../../run/lifecycle.ts';
import type { Share } from '../../../run/server.ts';

/**
 * Answers the builders' question for their stack, as the server of a test run does.
 * @param share the environment of the proof, and a directory for files of the builders
 * @returns a function that closes the connections of the builders
 */
export async function shareStack(share: Share): Promise<() => Promise<void>> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(share));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.env['TEST_RUN_URL'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async () => {
    await fileEnded();
    server.closeAllConnections();
    server.close();
  };
}
