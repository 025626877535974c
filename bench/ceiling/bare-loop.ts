/** The bare loop of a webhook queue, in a separate process: it claims rows of one table, posts each row, and records the ended posts. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import pg from 'pg';
import { readConfig } from '../../config.ts';
import { postThrough } from '../../domain/webhooks/attempts/post.ts';
import { newSecret } from '../../domain/webhooks/endpoints/secrets.ts';
import { gathered } from '../../platform/core/gathered.ts';
import { createEgress } from '../../platform/infra/egress/egress.ts';

const claimsTogether = 64;
const maxInFlight = 256;
const leaseSeconds = 30;

const { database, egress, serviceName } = readConfig();
const pool = new pg.Pool({ connectionString: database.url.reveal(), max: database.poolSize });
const { allowedNetworks, extraCaFile } = egress;
const extraCa = extraCaFile === undefined ? undefined : readFileSync(extraCaFile, 'utf8');
const post = postThrough(createEgress({ allowedNetworks, extraCa }).dispatcher, serviceName);

await pool.query(`
  CREATE TABLE bare_messages (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    url text NOT NULL,
    body text NOT NULL,
    secret text NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    lease_until timestamptz,
    response_status int,
    done_at timestamptz);
  CREATE INDEX ON bare_messages (id) WHERE status = 'pending'`);

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname === '/readyz') response.end('ready');
  else {
    const count = Number(searchParams.get('count'));
    void runAll(count, searchParams.getAll('url')).then((perSecond) => response.end(JSON.stringify({ perSecond })));
  }
}).listen(Number(process.env['CEILING_PORT']), '127.0.0.1');

interface Message {
  id: string;
  url: string;
  body: string;
  secret: string;
}

/**
 * Commits `count` messages, and then posts all of them.
 * @returns messages a second, without the commit
 */
async function runAll(count: number, urls: readonly string[]): Promise<number> {
  await fill(count, urls);
  const started = performance.now();
  let [unclaimed, inFlight, isClaiming] = [count, 0, false];
  const ended = Promise.withResolvers<void>();
  let unrecorded = count;
  const handle = async (message: Message) => {
    const status = await postOne(message);
    inFlight--;
    void claimMore();
    await record({ id: message.id, status });
    unrecorded--;
    if (unrecorded === 0) ended.resolve();
  };
  const claimMore = async () => {
    if (isClaiming) return;
    isClaiming = true;
    while (unclaimed > 0 && inFlight < maxInFlight) {
      const messages = await claim(Math.min(claimsTogether, maxInFlight - inFlight));
      unclaimed -= messages.length;
      inFlight += messages.length;
      for (const message of messages) void handle(message);
    }
    isClaiming = false;
  };
  void claimMore();
  await ended.promise;
  return (count * 1_000) / (performance.now() - started);
}

/** The body is the body of a real event that the caller has already delivered once. */
async function fill(count: number, urls: readonly string[]): Promise<void> {
  await pool.query(`TRUNCATE bare_messages`);
  const { rowCount } = await pool.query(
    `INSERT INTO bare_messages (url, body, secret)
     SELECT ($1::text[])[1 + number % cardinality($1)], event.body, $2
       FROM (SELECT body FROM webhook_bodies LIMIT 1) event, generate_series(1, $3::int) number`,
    [urls, newSecret(), count],
  );
  if (rowCount !== count) throw new Error(`${rowCount} of ${count} messages were committed: deliver an event first.`);
  await pool.query(`VACUUM ANALYZE bare_messages`);
}

async function claim(limit: number): Promise<Message[]> {
  const { rows } = await pool.query<Message>({
    name: 'claim',
    text: `UPDATE bare_messages SET status = 'claimed', lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
            WHERE id = ANY (ARRAY (SELECT id FROM bare_messages WHERE status = 'pending' ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
        RETURNING id, url, body, secret`,
    values: [limit],
  });
  return rows;
}

async function postOne({ id, url, body, secret }: Message): Promise<number> {
  const { outcome, responseStatus = 0 } = await post({ url, eventId: id, body, secrets: [secret] });
  if (outcome !== 'succeeded')
    throw new Error(`The receiver was to accept everything, but a post ended as ${outcome}.`);
  return responseStatus;
}

/** One write records all posts that ended during the previous write. */
const record = gathered<{ id: string; status: number }, undefined>(async (ended) => {
  await pool.query({
    name: 'record',
    text: `UPDATE bare_messages message SET status = 'done', lease_until = NULL, response_status = ended.status, done_at = clock_timestamp()
             FROM unnest($1::uuid[], $2::int[]) AS ended (id, status) WHERE message.id = ended.id`,
    values: [ended.map(({ id }) => id), ended.map(({ status }) => status)],
  });
  return ended.map(() => undefined);
});
