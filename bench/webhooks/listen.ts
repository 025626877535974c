/**
 * Measures the command `listen`: the time from the commit of a fact to its arrival at a receiver on the laptop. In the same run, webhooks are
 * measured without and with 20 listeners, because listeners must not slow them down.
 */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { newKey } from '../../domain/identity/api-keys/key-format.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { sha256 } from '../../platform/infra/keys/vault.ts';
import { main } from '../../sdk/src/commands/main.ts';
import { median, progress, quantile, report, waitUntil } from '../support.ts';
import { delaysOf, steadily, times } from './pace.ts';
import { commitFact, type BenchClub, type Listener, type Scene } from './scene.ts';

const facts = 100;
const everyMs = 200;
const clubs = 10;
const listenersOfAClub = 2;
/** Rounds without and with listeners follow one another, so that both see the same machine. */
const rounds = 3;

export async function measureListening(scene: Scene): Promise<void> {
  const { db, addListener, addClubs, launch } = scene;
  const webhooks = await addListener();
  const seeded = await addClubs(Array.from({ length: clubs }, () => webhooks.url));
  await db.source.query(`UPDATE clubs SET events_logged_since = now()`);
  const { port } = await launch('api/server.ts', 'API_PORT', { API_METRICS_PORT: '0', FILES_PORT: '0' });
  const keys = await Promise.all(seeded.map(({ clubId }) => insertKey(scene, clubId)));
  const delays = { without: [] as number[], with: [] as number[], forwarded: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    delays.without.push(...(await measureRound(scene, seeded, [webhooks])).flat());
    const laptop = await startLaptop();
    const stops = await listenToAll(`http://127.0.0.1:${port}`, seeded, keys, laptop.url);
    const [arrived = [], forwarded = []] = await measureRound(scene, seeded, [webhooks, laptop]);
    delays.with.push(...arrived);
    delays.forwarded.push(...forwarded);
    await Promise.all(stops.map((stop) => stop()));
    await laptop.stop();
    progress(
      `round ${round + 1} of ${rounds}: webhooks ${median(arrived).toFixed(0)} ms, listeners ${median(forwarded).toFixed(0)} ms`,
    );
  }
  const { forwarded, without } = delays;
  report('listen: commit-to-forward ms', { p50: median(forwarded), p99: quantile(forwarded, 0.99) });
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const) {
    const [value, alone] = [quantile(delays.with, share), quantile(without, share)];
    report(`listen: webhooks beside 20 listeners ${name} ms`, { value, without: alone, ratio: value / alone });
  }
}

/** Commits facts at a steady rate. @returns the delays at each receiver */
async function measureRound(
  { db }: Scene,
  seeded: readonly BenchClub[],
  receivers: readonly Pick<Listener, 'arrivals'>[],
): Promise<number[][]> {
  const committed = new Map<Id, number>();
  const commitNext = async (index: number) => {
    const id = await commitFact(db, seeded[index % seeded.length] as BenchClub);
    committed.set(id, performance.now());
  };
  await steadily(everyMs, commitNext, times(facts));
  const delays: number[][] = [];
  for (const { arrivals } of receivers) delays.push(await delaysOf(db, arrivals, committed, 60_000));
  return delays;
}

async function insertKey({ db }: Scene, clubId: Id): Promise<string> {
  const id = newId();
  const key = newKey(id);
  await db.source.query(
    `INSERT INTO api_keys (id, club_id, name, scopes, allowed_networks, secret_hash, created_at, updated_at, expires_at)
     VALUES ($1, $2, 'listen', '{events:read}', '{}', $3, now(), now(), now() + interval '1 day')`,
    [id, clubId, sha256(key)],
  );
  return key;
}

/** A receiver without TLS, as on the laptop of a developer. */
async function startLaptop() {
  const arrivals = new Map<Id, number>();
  const server = createServer((request, response) => {
    const id = String(request.headers['webhook-id']);
    if (!arrivals.has(id)) arrivals.set(id, performance.now());
    request.resume();
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Runs the command for each listener. @returns functions that end them */
async function listenToAll(
  baseUrl: string,
  seeded: readonly BenchClub[],
  keys: readonly string[],
  laptop: string,
): Promise<(() => Promise<void>)[]> {
  let started = 0;
  const stops = seeded.flatMap(({ clubId }, index) =>
    Array.from({ length: listenersOfAClub }, () => {
      const ending = new AbortController();
      const io = {
        out: () => undefined,
        error(text: string) {
          if (text.startsWith('Listening')) started += 1;
        },
        stdin: Readable.from([]),
        env: { CLUB_LEARNING_API_KEY: keys[index] },
        signal: ending.signal,
      };
      const over = main(['listen', '--api-url', baseUrl, '--club', clubId, '--forward-to', laptop], io);
      return async () => {
        ending.abort(new Error('The round is over.'));
        await over;
      };
    }),
  );
  await waitUntil('all listeners are connected', () => started >= clubs * listenersOfAClub, { timeoutMs: 60_000 });
  return stops;
}
