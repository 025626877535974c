/** Gives tests access to the queue of the relay: inserts and claims rows of all clubs, and moves the times of rows. */
import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import type { Priority } from '../../../entities/facts/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { claimFacts, recordFact } from '../../../platform/engine/facts.ts';
import type { Room, Turn } from '../../../platform/engine/turns.ts';
import { claimWakes } from '../../../platform/engine/wakes.ts';
import { wakeRuns } from '../../../platform/engine/wakes.ts';
import type { Run } from '../../../platform/engine/workflow-types.ts';
import { Database, type Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { testDatabase } from '../stack/database.ts';

type Table = 'facts' | 'wakes';

/** @param inHand for each club, the number of rows that the relay handles at the moment. None of these rows is bulk */
export const roomFor = (
  limit: number,
  perClub = 100,
  inHand: Readonly<Record<Id, number>> = {},
  turn: Turn = new Map(),
): Room => ({
  limit,
  bulk: limit,
  perClub,
  bulkPerClub: perClub,
  turn,
  inHand: new Map(Object.entries(inHand).map(([clubId, all]) => [clubId, { all, bulk: 0 }])),
});

export const countsOf = (rows: readonly { clubId: Id }[]): Record<Id, number> => {
  const counts: Record<Id, number> = {};
  for (const { clubId } of rows) counts[clubId] = (counts[clubId] ?? 0) + 1;
  return counts;
};

export const wakeOf = (subjectId: Id, clubId: Id | null): Run => ({
  workflowType: 'webhookDelivery',
  subjectId,
  clubId,
  attributes: { EventType: 'student.created' },
});

/**
 * Empties the queue before each test of a `describe`. Call this function in the `describe`.
 * @returns functions for use inside the tests
 */
export function useRelayQueue() {
  let source: DataSource;
  let db: Database;
  let notifications = 0;
  let turn: Turn;
  before('open the database of the file', async () => {
    source = await testDatabase();
    db = new Database(source, { notify: () => void (notifications += 1) });
  });
  beforeEach('empty the queue', async () => {
    notifications = 0;
    turn = new Map();
    await source.query(`TRUNCATE facts, wakes`);
  });

  /** Returns the time of the database, because the clock of the database decides when a lease ends. */
  const databaseNow = async () => {
    const [row] = await source.query<{ now: Date }[]>(`SELECT clock_timestamp() AS now`);
    return row?.now.getTime() ?? NaN;
  };

  return {
    source: () => source,
    transaction: <T>(work: (tx: Transaction) => Promise<T>) => db.transaction(work),
    notifications: () => notifications,
    everyFact: (limit = 100, perClub = 100, inHand: Readonly<Record<Id, number>> = {}) =>
      claimFacts(source, roomFor(limit, perClub, inHand, turn)),
    someWakes: (limit: number, perClub = 100) => claimWakes(source, roomFor(limit, perClub)),
    /** @returns the fact's id */
    record: (clubId: Id, studentId = newId()) =>
      db.transaction((tx) =>
        recordFact(tx, { clubId, type: 'student.created', studentId, occurredAt: new Date('2026-03-01T10:00:00Z') }),
      ),
    /** Inserts this many facts of the club simultaneously, all due immediately. */
    recordMany: (clubId: Id, count: number, priority: Priority = 1, agoMs = 0) =>
      source.query(
        `INSERT INTO facts (id, club_id, type, student_id, occurred_at, priority, due_at)
         SELECT gen_random_uuid(), $1, 'student.created', gen_random_uuid(), now(), $3, now() - make_interval(secs => $4 / 1000.0)
           FROM generate_series(1, $2::int)`,
        [clubId, count, priority, agoMs],
      ),
    wakeNow: (...wakes: Run[]) => db.transaction((tx) => wakeRuns(tx, wakes, new Date())),
    endPauses: (table: Table) =>
      source.query(`UPDATE ${table} SET due_at = clock_timestamp() WHERE due_at > clock_timestamp()`),
    letLeasesRunOut: (table: Table) =>
      source.query(
        `UPDATE ${table} SET lease_until = clock_timestamp() - interval '1 ms' WHERE lease_until IS NOT NULL`,
      ),
    /** Expects that the lease or the pause of the only row ends this many seconds after `work`, measured by the clock of the database. */
    async expectEnd(
      column: 'lease_until' | 'due_at',
      table: Table,
      seconds: number,
      work: () => Promise<unknown>,
    ): Promise<void> {
      const startedAt = await databaseNow();
      await work();
      const ended = await databaseNow();
      const rows = await source.query<{ until: Date }[]>(`SELECT ${column} AS until FROM ${table}`);
      expect(rows).to.have.length(1);
      // `Date` has only whole milliseconds, but the clock of the database has microseconds.
      expect(rows[0]?.until.getTime()).to.be.within(startedAt + seconds * 1_000, ended + seconds * 1_000);
    },
    /** Counts the rows and index entries of the table that a claim reads, and then releases the claimed rows. */
    async rowsRead(table: Table, claim: (tx: Transaction) => Promise<unknown>): Promise<number> {
      await source.query(`VACUUM ANALYZE ${table}`);
      let count = NaN;
      const rollback = new Error('roll the claim back');
      await db
        .transaction(async (tx) => {
          const read = async () => {
            const row = await tx.one<{ count: number }>(
              sql`SELECT sum(pg_stat_get_xact_tuples_returned(oid))::int AS count FROM pg_class
                   WHERE oid = ${table}::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = ${table}::regclass)`,
            );
            return row?.count ?? NaN;
          };
          const before = await read(); // The connection may still have unreported counts of earlier transactions.
          expect(await claim(tx)).not.to.deep.equal([]);
          count = (await read()) - before;
          throw rollback;
        })
        .catch((error: unknown) => expect(error).to.equal(rollback));
      return count;
    },
  };
}
