/** Every statement of the worker takes a second longer: the effects for receivers and operators (ENG-18). */
import { setTimeout as sleep } from 'node:timers/promises';
import { progress, quantile, report, waitUntil } from '../support.ts';
import type { DelayLine } from './delay-line.ts';
import { commitFact, type Scene } from './scene.ts';

const addedMs = 1_000;
const clubs = 20;
const facts = 200;
/** Attempts in progress must be recorded despite the slow statements. */
const answerMs = 500;
const limitMs = 600_000;

export async function measureBrownOut({ db, worker, addReceiver, addClubs }: Scene, line: DelayLine): Promise<void> {
  const arrivals = new Map<string, number>();
  const receivers = await Promise.all(
    Array.from({ length: clubs }, () =>
      addReceiver(async (request) => {
        const id = request.headers['webhook-id'] ?? '';
        arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
        await sleep(answerMs);
        return { status: 204 };
      }),
    ),
  );
  const added = await addClubs(receivers.map(({ url }) => url));
  line.delayMs = addedMs;
  const scrapes: number[] = [];
  let [over, ready, asked] = [false, 0, 0];
  const watching = (async () => {
    while (!over) {
      asked += 1;
      ready += (await fetch(`http://127.0.0.1:${worker.port}/readyz`)).ok ? 1 : 0;
      const startedAt = performance.now();
      await (await fetch(`http://127.0.0.1:${worker.port}/metrics`)).text();
      scrapes.push(performance.now() - startedAt);
      await sleep(1_000);
    }
  })();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: facts }, (_, at) => commitFact(db, added[at % clubs] as (typeof added)[0])));
  const succeeded = async () => {
    const [row] = await db.source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM webhook_deliveries WHERE club_id = ANY ($1) AND status = 'succeeded'`,
      [added.map(({ clubId }) => clubId)],
    );
    return row?.count ?? 0;
  };
  await waitUntil(`${facts} facts are delivered`, async () => (await succeeded()) >= facts, {
    timeoutMs: limitMs,
    everyMs: 500,
    progressSoFar: async () => `${await succeeded()} are`,
  });
  const tookS = (performance.now() - startedAt) / 1_000;
  over = true;
  await watching;
  line.delayMs = 0;
  progress(`ready ${ready} of ${asked} times`);
  const posts = [...arrivals.values()].reduce((sum, count) => sum + count, 0);
  report(`a second added to every statement: of ${facts} facts`, {
    duplicates: posts - arrivals.size,
    lost: facts - arrivals.size,
    seconds: tookS,
    ready: ready / asked,
    'p95 of a scrape in s': quantile(scrapes, 0.95) / 1_000,
  });
}
