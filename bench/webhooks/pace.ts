/** Commits facts at a steady rate, and measures the time from commit to arrival. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../platform/infra/postgres/database.ts';
import type { Id } from '../../platform/core/ids.ts';
import { waitUntil } from '../support.ts';
import { commitFact, type BenchClub, type Listener } from './scene.ts';

/** If a fact is still missing this long after the last commit, the run is invalid. */
const arrivalLimitMs = 60_000;

/** Calls `act` with 0, 1, 2 …, as long as `goOn` returns true. @param everyMs if `act` takes longer, the next call follows immediately */
export async function steadily(
  everyMs: number,
  act: (index: number) => Promise<unknown>,
  goOn: (index: number) => boolean,
): Promise<void> {
  for (let index = 0; goOn(index); index++) {
    const next = performance.now() + everyMs;
    await act(index);
    await sleep(Math.max(0, next - performance.now()));
  }
}

/**
 * The clubs commit in rotation, as long as `goOn` returns true.
 * @returns milliseconds from each fact's commit to its arrival
 * @throws Error if a fact does not arrive
 */
export async function measureDelays(
  db: Database,
  { arrivals }: Listener,
  clubs: readonly BenchClub[],
  { everyMs, goOn }: { everyMs: number; goOn: (index: number) => boolean },
): Promise<number[]> {
  const committed = new Map<Id, number>();
  const commitNext = async (index: number) => {
    const id = await commitFact(db, clubs[index % clubs.length] as BenchClub);
    committed.set(id, performance.now());
  };
  await steadily(everyMs, commitNext, goOn);
  return delaysOf(db, arrivals, committed);
}

/**
 * @param committed the commit time of each event in `performance.now()`
 * @returns milliseconds from each fact's commit to its arrival
 * @throws Error if a fact does not arrive
 */
export async function delaysOf(
  db: Database,
  arrivals: Listener['arrivals'],
  committed: ReadonlyMap<Id, number>,
  limitMs = arrivalLimitMs,
): Promise<number[]> {
  const missing = () => [...committed.keys()].filter((id) => !arrivals.has(id));
  await waitUntil(`all of ${committed.size} facts arrive`, () => missing().length === 0, {
    timeoutMs: limitMs,
    progressSoFar: async () => `${missing().length} have not; their attempts: ${await attemptsAt(db, missing())}`,
  });
  return [...committed].map(([id, at]) => (arrivals.get(id) ?? Number.NaN) - at);
}

/** @returns a text for the message of a failed run */
async function attemptsAt({ source }: Database, events: readonly Id[]): Promise<string> {
  const rows = await source.query<{ outcome: string | null; count: number }[]>(
    `SELECT attempt.outcome, count(*)::int AS count
       FROM webhook_attempts attempt JOIN webhook_deliveries delivery ON delivery.id = attempt.delivery_id
      WHERE delivery.event_id = ANY ($1) GROUP BY 1 ORDER BY 1`,
    [events],
  );
  return rows.map(({ outcome, count }) => `${outcome ?? 'under way'} ${count}`).join(', ') || 'none';
}

/** A `goOn` that is true for `count` calls. */
export const times =
  (count: number) =>
  (index: number): boolean =>
    index < count;
