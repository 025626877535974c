/** First attempts without a run: a backlog beside a bare loop, and facts that arrive at a steady rate. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../platform/infra/postgres/database.ts';
import type { Id } from '../../platform/core/ids.ts';
import { median, progress, quantile, report, reportBeside, type Round } from '../support.ts';
import { delaysOf } from './pace.ts';
import { untilIdle } from './process-cost.ts';
import {
  commitTogether,
  countSucceeded,
  deliverBacklog,
  limitFor,
  withCost,
  type BenchClub,
  type Listener,
  type Scene,
} from './scene.ts';

export const rounds = 5;
/** They take some seconds, so that the start and the end of a round have little influence. A quick run uses fewer. */
export const factsARound = Number(process.env['DIRECT_FACTS'] ?? 8_000);
const warmUpShare = 1 / 4;
/** So many that connections and slots of hosts and endpoints (HOOK-17, HOOK-16) do not limit the rate. */
export const listeners = 8;
const clubsOfAListener = 5;
/** Facts a second: a nearly idle lane, a busy lane, and more than the lane may handle. */
const paces = [5, 400, 800] as const;
const paceSeconds = Number(process.env['DIRECT_SECONDS'] ?? 20);

/** From the commit of all facts until each has a recorded 2xx, beside the bare loop with as many messages. */
export async function measureBacklog(scene: Scene): Promise<void> {
  const { db, worker, launch } = scene;
  const [{ urls, arrivals }, ofBare] = [await addListeners(scene), await addListeners(scene)];
  const seeded = await addClubsAt(scene, urls);
  const { port, child } = await launch('bench/ceiling/bare-loop.ts', 'CEILING_PORT');
  const ours = (count: number) => deliverBacklog(db, seeded, arrivals, count);
  const bare = async (count: number) => {
    const query = new URLSearchParams({ count: String(count) });
    for (const url of ofBare.urls) query.append('url', url);
    const signal = AbortSignal.timeout(limitFor(count));
    const answer = await fetch(`http://127.0.0.1:${port}/run?${query.toString()}`, { signal });
    return ((await answer.json()) as { perSecond: number }).perSecond;
  };

  await ours(factsARound * warmUpShare);
  await bare(factsARound * warmUpShare);
  const measured: Round[] = [];
  // Each round measures both, so that a slow phase of the machine affects both.
  for (let round = 1; round <= rounds; round++) {
    await untilIdle(worker.pid);
    const figures = {
      ours: await withCost(scene, 'worker', worker.pid, factsARound, () => ours(factsARound)),
      bare: await withCost(scene, 'bare loop', child.pid, factsARound, () => bare(factsARound)),
    };
    measured.push(figures);
    progress(`round ${round}: ${figures.ours.toFixed(0)} deliveries/s, bare loop ${figures.bare.toFixed(0)}/s`);
  }
  await child.stop();
  reportBeside('direct/s', measured);
}

/** Deliveries a second at each rate, and the time from the commit of a fact to its arrival. */
export async function measureArriving(scene: Scene): Promise<void> {
  const { db, worker } = scene;
  const { urls, arrivals } = await addListeners(scene);
  const seeded = await addClubsAt(scene, urls);
  for (const pace of paces) {
    await untilIdle(worker.pid);
    const before = await countSucceeded(db, seeded);
    const { recorded, delays } = await withCost(scene, 'worker', worker.pid, pace * paceSeconds, async () => {
      const committed = await commitAtPace(db, seeded, pace);
      return {
        recorded: (await countSucceeded(db, seeded)) - before,
        delays: await delaysOf(db, arrivals, committed, limitFor(committed.size)),
      };
    });
    report(`direct at ${pace} facts/s`, {
      'recorded/s': recorded / paceSeconds,
      'commit-to-arrival p50 ms': median(delays),
      'p99 ms': quantile(delays, 0.99),
    });
  }
}

/** @returns the addresses of several listeners, and the arrivals at all of them */
export async function addListeners({
  addListener,
}: Scene): Promise<{ urls: readonly string[] } & Pick<Listener, 'arrivals'>> {
  const arrivals = new Map<Id, number>();
  const added = await Promise.all(Array.from({ length: listeners }, () => addListener(arrivals)));
  return { urls: added.map(({ url }) => url), arrivals };
}

export const addClubsAt = ({ addClubs }: Scene, urls: readonly string[]): Promise<BenchClub[]> =>
  addClubs(Array.from({ length: clubsOfAListener }, () => urls).flat());

/**
 * One commit after another. After a slow commit, the next has more facts, so the rate stays the same.
 * @returns the commit time of each event in `performance.now()`
 */
async function commitAtPace(
  db: Database,
  seeded: readonly BenchClub[],
  perSecond: number,
): Promise<ReadonlyMap<Id, number>> {
  const committed = new Map<Id, number>();
  const started = performance.now();
  for (;;) {
    const seconds = Math.min((performance.now() - started) / 1_000, paceSeconds);
    const ids = await commitTogether(db, seeded, Math.floor(perSecond * seconds) - committed.size, committed.size);
    const at = performance.now();
    for (const id of ids) committed.set(id, at);
    if (seconds === paceSeconds) return committed;
    await sleep(1);
  }
}
