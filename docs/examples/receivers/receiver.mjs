// A receiver of webhooks on plain Node (18 or later), without dependencies:
//   PORT=3000 WEBHOOK_SECRET=whsec_… node receiver.mjs
// It listens on loopback in plain HTTP. A reverse proxy in front of it does TLS: endpoints are registered as https.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const toleranceSeconds = 5 * 60;
const largestBody = 1_048_576; // a limit of this receiver, so that a stranger cannot fill its memory
const key = keyOf(process.env.WEBHOOK_SECRET ?? '');

function keyOf(secret) {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret))
    throw new Error('WEBHOOK_SECRET must be the secret of the endpoint, which begins with whsec_.');
  return Buffer.from(secret.slice('whsec_'.length), 'base64');
}

/** Says whether the raw body has a valid signature whose timestamp is at most 5 minutes away from this clock. */
function isGenuine(headers, rawBody) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (!id || !signatures || !/^\d{1,12}$/.test(timestamp ?? '')) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds) return false;
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(rawBody).digest();
  return signatures.split(' ').some((signature) => {
    const [version, value = ''] = signature.split(',');
    const actual = Buffer.from(value, 'base64');
    return version === 'v1' && actual.length === expected.length && timingSafeEqual(actual, expected);
  });
}

// In production, replace these two variables by one table with a unique column for the id: insert the message, then answer. A process
// that dies after its answer loses its memory, and the service does not send an accepted message again.
const known = new Set();
const inbox = [];

/** Stores a message, to handle it after the answer. Ignores a message whose id is known. */
function keep(id, event) {
  if (known.has(id)) return;
  known.add(id);
  inbox.push(event);
  setImmediate(() => handle(inbox.shift()));
}

/** Put your own work here. Unknown types and webhook.test need only the answer. */
function handle(event) {
  process.stdout.write(`handled ${event.id} ${event.type}\n`);
}

async function readBody(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += chunk.length;
    if (length > largestBody) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function receive(request) {
  if (request.method !== 'POST') return 405;
  const rawBody = await readBody(request);
  if (rawBody === undefined) return 413;
  if (!isGenuine(request.headers, rawBody)) return 401;
  try {
    keep(request.headers['webhook-id'], JSON.parse(rawBody.toString('utf8')));
    return 204;
  } catch (error) {
    if (error instanceof SyntaxError) return 400;
    throw error;
  }
}

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status, status === 413 ? { connection: 'close' } : {}).end(),
    () => response.destroy(),
  );
});
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${server.address().port}\n`);
});
