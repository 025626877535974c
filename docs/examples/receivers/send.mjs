// Sends a signed message to a receiver on your own machine, on plain Node (18 or later):
//   WEBHOOK_SECRET=whsec_… node send.mjs http://127.0.0.1:3000 [body.json]
// Without a file it sends a test message. It prints the status of the answer. The exit code is 0 for 2xx.
import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [url, file] = process.argv.slice(2);
const secret = process.env.WEBHOOK_SECRET ?? '';
if (!url || !secret.startsWith('whsec_')) throw new Error('WEBHOOK_SECRET=whsec_… node send.mjs <url> [body.json]');

const testMessage = {
  id: randomUUID(),
  type: 'webhook.test',
  occurred_at: new Date().toISOString(),
  club_id: randomUUID(),
  data: { endpoint: { id: randomUUID() } },
};
const body = file ? readFileSync(file) : Buffer.from(JSON.stringify(testMessage));
const { id } = JSON.parse(body.toString('utf8'));
const timestamp = Math.floor(Date.now() / 1000);
const signature = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
  .update(`${id}.${timestamp}.`)
  .update(body)
  .digest('base64');

const response = await fetch(url, {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  },
  body,
});
process.stdout.write(`${response.status}\n`);
process.exitCode = response.ok ? 0 : 1;
