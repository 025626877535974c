/** Reports how long the API's process blocked its thread. Loaded into the process before the API starts. */
import { createServer } from 'node:http';
import { watchHolds } from '../../test/toolkit/drive/loop-holds.ts';

const holds = watchHolds();

createServer(({ method }, response) => {
  const longestMs = holds.longestMs();
  if (method === 'POST') holds.begin();
  response.end(JSON.stringify({ longestMs }));
})
  .listen(Number(process.env['HOLDS_PORT']), '127.0.0.1')
  .unref();
