/** Tests that every table of clubs is erased, in an order without cascades, by an index, and only for one club. */
import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { contextsInLockOrder } from '../../../domain/contexts.ts';
import { eraseClubRows, rowRules } from '../../../domain/erasures/clubs/rows.ts';
import { tablesOf, type ErasureNode } from '../../../domain/erasures/clubs/order.policy.ts';
import { clubTables, referencesOf } from '../../../domain/erasures/clubs/tables.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { rowsOfClubs } from '../../toolkit/assert/club-rows.ts';
import { tracesInTables } from '../../toolkit/assert/traces.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildFurnishedClub, type FurnishedClub } from '../../toolkit/builders/furnished-club.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';

const clubRows = contextsInLockOrder.flatMap((context) => context.clubRows);

/** These tables contain no rows of clubs. The value says what the table contains. */
const explained: Readonly<Record<string, string>> = {
  administrators: 'has people, who can belong to several clubs',
  clubs: 'is erased last, and needs no answer',
  code_failure_counts: 'has keyed hashes of addresses, and is emptied each day',
  erasures: 'has ids, times and counts, and outlives the club',
  failing_steps: 'has ids of runs; the step `runs` deletes them',
  mail_notice_receipts: 'has hashes of notices',
  phone_codes: 'has codes of administrators; its column for a club is always null',
  rate_limit_counters: 'has counts that end within an hour',
  recovery_codes: 'belongs to administrators',
  releases: 'has versions and builds of the service',
  report_mailboxes: 'has the progress in a mailbox of the installation',
  running_processes: 'has versions and builds of the service',
  schema_contractions: 'has versions of the service',
  second_factors: 'belongs to administrators',
  spent_passkey_challenges: 'has hashes of random numbers',
  spent_sign_ins: 'has random ids of sign-ins of administrators',
  upkeep_rounds: 'has times of the sweeper’s rounds',
  vault_secrets: 'has keys of the installation',
};

interface ForeignKey {
  table: string;
  column: string;
  parent: string;
}

describe('the rows of a club', function () {
  this.timeout(60_000);
  let source: DataSource;
  let order: readonly ErasureNode[];
  before('read the tables', async () => {
    source = await testDatabase();
    ({ order } = clubTables(source, clubRows));
  });

  const foreignKeys = () =>
    source.query<ForeignKey[]>(
      `SELECT conrelid::regclass::text AS table, attname AS column, confrelid::regclass::text AS parent
         FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
        WHERE contype = 'f' AND connamespace = 'public'::regnamespace ORDER BY 1, 2`,
    );

  describe('are known to the contexts', () => {
    it('in every table of the schema, or the table is explained', async () => {
      const tables = await source.query<{ name: string }[]>(
        `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
            AND NOT relispartition AND relname NOT IN ('migrations', 'typeorm_metadata')`,
      );
      const answered = new Set(order.flatMap(tablesOf));
      const unknown = tables.map(({ name }) => name).filter((name) => !answered.has(name) && !(name in explained));
      expect(unknown, 'Add the table to clubRows in a parts.ts').to.deep.equal([]);
      expect([...answered].filter((name) => name in explained)).to.deep.equal([]);
    });

    it('in every table that refers to a club', async () => {
      const known = new Set([...order.flatMap(tablesOf), 'clubs']);
      const below = (await foreignKeys()).filter(({ table, parent }) => known.has(parent) && !known.has(table));
      expect(below).to.deep.equal([]);
    });

    it('with the foreign keys that Postgres has', async () => {
      const sorted = (keys: readonly ForeignKey[]) =>
        keys.map(({ table, column, parent }) => `${table}.${column} ${parent}`).toSorted();
      expect(sorted(referencesOf(source))).to.deep.equal(sorted(await foreignKeys()));
    });

    it('with an index for each foreign key to an erased row', async () => {
      const known = new Set([...order.flatMap(tablesOf), 'clubs']);
      const indexes = await source.query<{ table: string; column: string; where: string | null }[]>(
        `SELECT indrelid::regclass::text AS table, attname AS column, pg_get_expr(indpred, indrelid) AS where
           FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] WHERE indisvalid`,
      );
      const missing = (await foreignKeys()).filter(
        ({ table, column, parent }) =>
          known.has(parent) &&
          !indexes.some(
            (index) =>
              index.table === table &&
              index.column === column &&
              (index.where === null || index.where === `(${column} IS NOT NULL)`),
          ),
      );
      expect(missing).to.deep.equal([]);
    });

    it('with an index for each way to the rows', async () => {
      const indexes = await source.query<{ table: string; column: string; where: string | null }[]>(
        `SELECT indrelid::regclass::text AS table, attname AS column, pg_get_expr(indpred, indrelid) AS where
           FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] WHERE indisvalid`,
      );
      const nodes = order.flatMap(function all(node: ErasureNode): ErasureNode[] {
        return [node, ...node.children.flatMap(all)];
      });
      const missing = nodes.filter(({ table, by }) => {
        if (by === 'scan') return false;
        const column = by === 'club' ? 'club_id' : 'empty' in by ? by.empty : by.column;
        return !indexes.some(
          (index) =>
            index.table === table &&
            index.column === column &&
            (index.where === null || (index.where === `(${column} IS NOT NULL)` && (by === 'club' || 'parent' in by))),
        );
      });
      expect(missing.map(({ table }) => table)).to.deep.equal([]);
    });
  });

  describe('of a furnished club', () => {
    let club: FurnishedClub;
    let other: FurnishedClub;
    let rowsBefore: Record<string, string[]>;
    let erased: number;
    let counts: Record<string, number>;
    const erasureId: Id = newId();
    before('erase one of two clubs', async () => {
      club = await buildFurnishedClub();
      other = await buildFurnishedClub();
      const { db } = await testDeps();
      const now = new Date();
      await source.query(
        `INSERT INTO erasures (id, kind, subject_id, club_id, requested_at, erases_at, status, looks_at)
         VALUES ($1, 'club', $2, $2, $3, $3, 'rows', $3)`,
        [erasureId, club.id, now],
      );
      await source.query('UPDATE clubs SET erasing_at = $2 WHERE id = $1', [club.id, now]);
      rowsBefore = await rowsOfClubs(other.id);
      erased = 0;
      for (let pass = 1; pass <= 3; pass++)
        erased += (await eraseClubRows({ db, clubRows }, { clubId: club.id, erasureId }, 60_000)).erased;
      const [row] = await source.query<{ counts: { tables: Record<string, number> } }[]>(
        'SELECT counts FROM erasures WHERE id = $1',
        [erasureId],
      );
      counts = row?.counts.tables ?? {};
    });

    it('leave no trace in any table except erasures', async () => {
      const needles = { club: club.id, student: club.student.id };
      const traces = (await tracesInTables(needles)).filter((trace) => !trace.startsWith('erasures.'));
      expect(traces).to.deep.equal([]);
    });

    it('leave every row of the other club', async () => {
      expect(await rowsOfClubs(other.id)).to.deep.equal(rowsBefore);
    });

    it('are counted by table', () => {
      expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).to.equal(erased);
      expect(counts).to.include({ clubs: 1, students: 3 });
      expect(erased).to.be.greaterThan(80);
    });

    it('are gone, so another pass erases nothing', async () => {
      const { db } = await testDeps();
      expect(await eraseClubRows({ db, clubRows }, { clubId: club.id, erasureId }, 60_000)).to.deep.equal({
        erased: 0,
      });
    });
  });

  describe('of many kinds', () => {
    it('are erased in batches within the time', async () => {
      const { db } = await testDeps();
      const club = await buildClub();
      await source.query(
        `INSERT INTO students (id, club_id, name, email, created_at, opened_by)
         SELECT gen_random_uuid(), $1, 'Stella', number || '@example.com', now(), 'club' FROM generate_series(1, 2500) number`,
        [club.id],
      );
      const statements: number[] = [];
      const failpoint = async (name: string) => {
        if (name !== 'erased_rows_recorded') return;
        const [row] = await source.query<{ count: number }[]>('SELECT count(*)::int FROM students WHERE club_id = $1', [
          club.id,
        ]);
        statements.push(row?.count ?? 0);
      };
      await eraseClubRows({ db, clubRows, failpoint }, { clubId: club.id, erasureId: null }, 60_000);
      const steps = [2500, ...statements].map((count, index, all) => count - (all[index + 1] ?? 0));
      expect(Math.max(...steps)).to.be.at.most(rowRules.rowsPerBatch);
      expect(statements.at(-1)).to.equal(0);
    });

    it('include the body of a test message, which names no club', async () => {
      const { db } = await testDeps();
      const [club, event] = [await buildClub(), newId()];
      await source.query(
        `INSERT INTO webhook_events (id, club_id, type, occurred_at, created_at) VALUES ($1, $2, 'webhook.test', now(), now())`,
        [event, club.id],
      );
      await source.query(`INSERT INTO webhook_bodies (event_id, created_at, body) VALUES ($1, now(), '{}')`, [event]);
      await eraseClubRows({ db, clubRows }, { clubId: club.id, erasureId: null }, 60_000);
      expect(await source.query(`SELECT FROM webhook_bodies WHERE event_id = $1`, [event])).to.deep.equal([]);
    });

    it('stop at the end of the time, and name the next table', async () => {
      const { db } = await testDeps();
      const club = await buildClub();
      await buildStudent(club.id);
      const { next } = await eraseClubRows({ db, clubRows }, { clubId: club.id, erasureId: null }, 0);
      expect(next).to.be.a('string');
      const rows = await source.query<unknown[]>('SELECT FROM students WHERE club_id = $1', [club.id]);
      expect(rows).to.have.length(1);
    });

    it('are found if a fan-out inserts an event between the erasure of events and of their student', async () => {
      const { db } = await testDeps();
      const club = await buildClub();
      const student = await buildStudent(club.id);
      let inserted = 0;
      const insertEvent = async () => {
        inserted += 1;
        await source.query(
          `INSERT INTO webhook_events (id, club_id, type, student_id, occurred_at, created_at)
           SELECT $1, club_id, 'student.updated', id, now(), now() FROM students WHERE id = $2`,
          [newId(), student.id],
        );
      };
      await insertEvent();
      const events = async () =>
        source.query<unknown[]>('SELECT FROM webhook_events WHERE student_id = $1', [student.id]);
      const failpoint = async (name: string) => {
        if (name === 'erased_rows_recorded' && inserted < 2 && (await events()).length === 0) await insertEvent();
      };
      await eraseClubRows({ db, clubRows, failpoint }, { clubId: club.id, erasureId: null }, 60_000);
      expect(inserted).to.equal(2);
      expect(await events()).to.deep.equal([]);
    });

    it('are erased before the tallies to which a roll-up adds them', () => {
      const tables = order.flatMap(tablesOf);
      for (const [changes, tallies] of [
        ['webhook_tally_changes', 'webhook_tallies'],
        ['automation_step_changes', 'automation_step_tallies'],
      ] as const)
        expect(tables.indexOf(changes), changes).to.be.lessThan(tables.indexOf(tallies));
    });

    it('write no tallies of the erased rows', async () => {
      const { db } = await testDeps();
      const club = await buildClub();
      await buildStudent(club.id);
      const tallies = await source.query<unknown[]>('SELECT FROM list_tally_changes WHERE club_id = $1', [club.id]);
      expect(tallies).to.not.deep.equal([]);
      await eraseClubRows({ db, clubRows }, { clubId: club.id, erasureId: null }, 60_000);
      const after = await source.query<unknown[]>(
        `SELECT FROM list_tally_changes WHERE club_id = $1 UNION ALL SELECT FROM club_student_changes WHERE club_id = $1`,
        [club.id],
      );
      expect(after).to.deep.equal([]);
    });
  });
});
