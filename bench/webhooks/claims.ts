/** The cost of a relay's claim, with 10 or 5,000 clubs, and with a short backlog or a million facts. */
import type { DataSource } from 'typeorm';
import { readConfig } from '../../config.ts';
import { claimFacts, removeFacts } from '../../platform/engine/facts.ts';
import { turnFromAnywhere, type Room } from '../../platform/engine/turns.ts';
import { prepared } from '../../platform/infra/postgres/prepared.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import { onFreshStack, progress, quantile, report, reportBeside, type Bench, type Round } from '../support.ts';

const queues = [
  { clubs: 10, factsOfEach: 2_000 },
  { clubs: 5_000, factsOfEach: 2 },
  { clubs: 5_000, factsOfEach: 200 },
] as const;
/** The number of facts in one claim. */
const room = 16;
const rounds = 5;
/** The claims of a round. The bare statement follows each claim. */
const claims = 50;
const warmUps = 20;

export async function benchClaims(): Promise<void> {
  const onStack = async ({ env }: Bench) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench', { patient: true }).initialize();
    try {
      await migrate(source);
      for (const { clubs, factsOfEach } of queues) {
        await source.query(`TRUNCATE facts`);
        await fill(source, clubs, factsOfEach);
        const words = `claim of ${room} where ${clubs} clubs have ${factsOfEach} facts each`;
        progress(words);
        await measure(source, words);
      }
      await source.query(`UPDATE facts SET due_at = clock_timestamp() + interval '1 hour'`);
      await source.query(`VACUUM ANALYZE facts`);
      const took: number[] = [];
      for (let nth = 0; nth < claims; nth++) took.push((await timed(() => claimFacts(source, roomOf(room)))).ms);
      report(`a claim that finds 1,000,000 facts put off p50 ms`, { value: quantile(took, 0.5) });
    } finally {
      await source.destroy();
    }
  };
  await onFreshStack(['postgres'], onStack, { durable: true });
}

/** A third of the facts is bulk work. */
async function fill(source: DataSource, clubs: number, factsOfEach: number): Promise<void> {
  await source.query(
    `INSERT INTO facts (id, club_id, type, student_id, occurred_at, priority)
     SELECT gen_random_uuid(), ('01980000-0000-7000-8000-' || lpad(to_hex(number % $1::int), 12, '0'))::uuid, 'student.created',
            gen_random_uuid(), now(), CASE number % 3 WHEN 0 THEN 2 ELSE 1 END
       FROM generate_series(1, $1::int * $2::int) number`,
    [clubs, factsOfEach],
  );
  await source.query(`VACUUM ANALYZE facts`);
}

/** Leases as many rows as a claim, but finds them by known keys. */
const leaseKnown = prepared<object, { clubIds: readonly string[]; ids: readonly string[] }>(
  'bench_lease_known',
  (value) => `UPDATE facts SET lease_until = clock_timestamp() + interval '30 s'
     FROM unnest(${value.clubIds}::uuid[], ${value.ids}::uuid[]) AS known (club_id, id) WHERE facts.club_id = known.club_id AND facts.id = known.id
   RETURNING facts.id, facts.club_id, type, student_id, subject_id, details, occurred_at, priority`,
);

/** After each claim, its facts are removed, so that the queue is like a working relay's. */
async function measure(source: DataSource, words: string): Promise<void> {
  const turn = turnFromAnywhere();
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    const took = { ours: [] as number[], bare: [] as number[] };
    for (let nth = 0; nth < warmUps + claims; nth++) {
      const { ms, result: claimed } = await timed(() => claimFacts(source, { ...roomOf(room), turn }));
      if (claimed.length === 0) throw new Error(`Nothing was left to claim: ${words}.`);
      const bare = await timed(() =>
        leaseKnown(source, { clubIds: claimed.map(({ clubId }) => clubId), ids: claimed.map(({ id }) => id) }),
      );
      await removeFacts(source, claimed);
      if (nth < warmUps) continue;
      took.ours.push(ms);
      took.bare.push(bare.ms);
    }
    measured.push({ ours: quantile(took.ours, 0.5), bare: quantile(took.bare, 0.5) });
  }
  reportBeside(`${words} p50 ms`, measured);
}

const roomOf = (limit: number): Room => ({
  limit,
  bulk: limit,
  perClub: 8,
  bulkPerClub: 6,
  inHand: new Map(),
  turn: turnFromAnywhere(),
});

async function timed<Result>(work: () => Promise<Result>): Promise<{ ms: number; result: Result }> {
  const started = performance.now();
  const result = await work();
  return { ms: performance.now() - started, result };
}
