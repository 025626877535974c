/**
 * The direct lane under three conditions: receivers that refuse messages, a transaction that prevents the vacuum of old rows, and a long
 * history.
 */
import pg from 'pg';
import { withoutLimits } from '../../entities/data-source.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { median, progress, report, waitUntil } from '../support.ts';
import { addClubsAt, addListeners, factsARound, listeners, rounds } from './direct.ts';
import { loadHistory } from './history-load.ts';
import { untilIdle } from './process-cost.ts';
import { commitTogether, deliverBacklog, limitFor, withCost, type BenchClub, type Scene } from './scene.ts';

const warmUpShare = 1 / 4;
/** Receivers refuse the first attempt of one message in 100, or in 10. */
const refusedOneIn = [100, 10] as const;
/** A transaction pins old rows for this time before the measurement. A quick run sets fewer. */
const snapshotSeconds = Number(process.env['DIRECT_SNAPSHOT_SECONDS'] ?? 60);
const history = { short: 10_000, long: Number(process.env['DIRECT_HISTORY'] ?? 5_000_000) };

/** A run repeats each refused message. The endpoint gets no direct attempts until it has accepted a message from a run. */
export async function measureRefused(scene: Scene): Promise<void> {
  const { db, worker, clear } = scene;
  for (const oneIn of refusedOneIn) {
    const { seeded, arrived, refused } = await addRefusing(scene, oneIn);
    await firstAttemptsOf(db, seeded, arrived, factsARound * warmUpShare);
    const figures: number[] = [];
    const before = await firstAttemptsBy(worker.port);
    for (let round = 1; round <= rounds; round++) {
      await untilIdle(worker.pid);
      figures.push(
        await withCost(scene, 'worker', worker.pid, factsARound, () =>
          firstAttemptsOf(db, seeded, arrived, factsARound),
        ),
      );
      progress(`round ${round}: ${figures.at(-1)?.toFixed(0)} first attempts/s`);
    }
    const after = await firstAttemptsBy(worker.port);
    const [direct, workflow] = [after.direct - before.direct, after.workflow - before.workflow];
    report(`direct, ${100 / oneIn} % refused: first attempts/s`, {
      value: median(figures),
      '% without a run': (100 * direct) / (direct + workflow),
      refused: refused(),
    });
    await clear();
  }
}

/** Adds receivers that refuse the first attempt of one message in `oneIn`. */
async function addRefusing(
  scene: Scene,
  oneIn: number,
): Promise<{ seeded: BenchClub[]; arrived: () => number; refused: () => number }> {
  const messages = new Set<string>();
  let refused = 0;
  const add = () =>
    scene.addReceiver((request) => {
      const id = request.headers['webhook-id'] ?? '';
      if (messages.has(id)) return { status: 204 };
      messages.add(id);
      if (messages.size % oneIn !== 0) return { status: 204 };
      refused++;
      return { status: 503 };
    });
  const receivers = await Promise.all(Array.from({ length: listeners }, add));
  const seeded = await addClubsAt(
    scene,
    receivers.map(({ url }) => url),
  );
  return { seeded, arrived: () => messages.size, refused: () => refused };
}

/** @returns recorded first attempts a second, accepted or not, from the commit of all facts */
async function firstAttemptsOf(
  db: Database,
  seeded: readonly BenchClub[],
  arrived: () => number,
  count: number,
): Promise<number> {
  const [arrivedBefore, before] = [arrived(), await countAttempted(db, seeded)];
  await commitTogether(db, seeded, count);
  const started = performance.now();
  const options = { timeoutMs: limitFor(count), progressSoFar: () => `${arrived() - arrivedBefore} have arrived` };
  await waitUntil(`${count} messages arrive`, () => arrived() - arrivedBefore >= count, options);
  const areRecorded = async () => (await countAttempted(db, seeded)) - before >= count;
  await waitUntil(`${count} first attempts are recorded`, areRecorded, options);
  return (count * 1_000) / (performance.now() - started);
}

async function countAttempted({ source }: Database, seeded: readonly BenchClub[]): Promise<number> {
  const [row] = await source.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM webhook_deliveries WHERE endpoint_id = ANY ($1) AND attempt_count > 0`,
    [seeded.map(({ endpointId }) => endpointId)],
  );
  return row?.count ?? 0;
}

/** @returns first attempts so far, for each lane */
async function firstAttemptsBy(port: number): Promise<{ direct: number; workflow: number }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const of = (lane: string) =>
    Number(new RegExp(`^webhook_first_attempts_total\\{lane="${lane}"\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  return { direct: of('direct'), workflow: of('workflow') };
}

/** Measures before and after a transaction has pinned old rows for a minute of load. */
export async function measureBesideSnapshot(scene: Scene): Promise<void> {
  const backlog = await aBacklog(scene);
  const without = await backlog('without a snapshot', rounds);
  const client = new pg.Client({ connectionString: scene.databaseUrl });
  await client.connect();
  try {
    await client.query(withoutLimits);
    await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM facts`);
    const openUntil = performance.now() + 1_000 * snapshotSeconds;
    while (performance.now() < openUntil) await backlog('while it is open', 1);
    const beside = await backlog(`${snapshotSeconds} s later`, rounds);
    report(`direct/s beside a snapshot of ${snapshotSeconds} s`, { value: beside, without, ratio: beside / without });
  } finally {
    await client.end();
  }
}

/** Another club has a short or a long history in the same tables. */
export async function measureWithHistory(scene: Scene): Promise<void> {
  const { db, databaseUrl, worker, addClubs } = scene;
  const [owner] = await addClubs(['https://history.invalid/']);
  if (!owner) throw new Error('Got no club for the history.');
  const perSecond = async (deliveries: number) => {
    await untilIdle(worker.pid);
    const started = performance.now();
    await loadHistory(db, databaseUrl, { ...owner, deliveries, pending: 0, end: new Date() });
    progress(`${deliveries} deliveries loaded in ${Math.round((performance.now() - started) / 1_000)} s`);
    return (await aBacklog(scene))(`beside ${deliveries} deliveries`, rounds);
  };
  const short = await perSecond(history.short);
  const long = await perSecond(history.long);
  report(`direct/s beside ${history.long} deliveries`, {
    value: long,
    [`at ${history.short} deliveries`]: short,
    ratio: long / short,
  });
}

/** @returns a function that runs rounds of a backlog, and returns the median of their deliveries a second */
async function aBacklog(scene: Scene): Promise<(what: string, count: number) => Promise<number>> {
  const { db, worker } = scene;
  const { urls, arrivals } = await addListeners(scene);
  const seeded = await addClubsAt(scene, urls);
  const run = (facts: number) => deliverBacklog(db, seeded, arrivals, facts);
  await run(factsARound * warmUpShare);
  return async (what, count) => {
    const figures: number[] = [];
    for (let round = 1; round <= count; round++) {
      await untilIdle(worker.pid);
      figures.push(await withCost(scene, 'worker', worker.pid, factsARound, () => run(factsARound)));
      progress(`${what}: ${figures.at(-1)?.toFixed(0)} deliveries/s`);
    }
    return median(figures);
  };
}
