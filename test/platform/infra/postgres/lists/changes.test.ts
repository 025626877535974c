/** Tests that a mirror which follows `next_updated_since` misses no change, whatever the order of commits (CUR-7). */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { listCourses } from '../../../../../domain/learning/courses/courses.ts';
import { Queries } from '../../../../../platform/infra/postgres/database.ts';
import { changeRules, readNextSince } from '../../../../../platform/infra/postgres/lists/changes.ts';
import { positionIn } from '../../../../../platform/infra/postgres/lists/cursor.ts';
import type { Page, PageRequest } from '../../../../../platform/infra/postgres/lists/page.ts';
import { newId, type Id } from '../../../../../platform/core/ids.ts';
import { buildFullLists } from '../../../../toolkit/builders/full-lists.ts';
import { withOpenTransaction } from '../../../../toolkit/drive/races.ts';
import { testDatabase, testDeps } from '../../../../toolkit/stack/database.ts';

type List = (db: Queries, request: PageRequest) => Promise<Page<{ id: string }>>;

/** @returns the request of a page of the changes since a time */
async function requestOf(clubId: Id, since: Date, next = '', cursor?: string, size = 100): Promise<PageRequest> {
  const { vault } = await testDeps();
  const context = { list: 'list', clubId, filters: { updated_since: since.toISOString() } };
  return { page: 1, page_size: size, cursor: positionIn(vault, context, cursor, { since, next }) };
}

/** One run of a mirror: reads all pages of the changes. @returns the ids, and the beginning of the next run */
async function run(list: List, clubId: Id, since: Date, size = 100): Promise<{ ids: string[]; next: Date }> {
  const db = new Queries((await testDatabase()).manager);
  const next = await readNextSince(db);
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(db, await requestOf(clubId, since, next.toISOString(), cursor, size));
    ids.push(...page.rows.map(({ id }) => id));
    cursor = page.next;
  } while (cursor !== undefined);
  return { ids, next };
}

const courses =
  (clubId: Id): List =>
  (db, request) =>
    listCourses(db, clubId, request);

const epoch = new Date(0);

describe('the changes of a list', function () {
  this.timeout(120_000);
  let club: { id: Id };
  before(async () => {
    club = await buildFullLists();
  });

  /** Inserts a course of the club. Its trigger reads the clock. */
  const insertCourse = (id: Id) =>
    [
      `INSERT INTO courses (id, club_id, public_id, title, description, status, certificate_on_completion, created_at, updated_at)
       VALUES ($1, $2, $3, 'T', '', 'draft', false, now(), now())`,
      [id, club.id, id.replaceAll('-', '')],
    ] as const;

  it('contain a change whose transaction was open during the run before, however long it was open', async () => {
    const id = newId();
    let next = epoch;
    await withOpenTransaction(
      (tx) => tx.manager.query(insertCourse(id)[0], [...insertCourse(id)[1]]),
      async () => {
        await sleep(changeRules.clocksDifferMs + 1_500);
        const during = await run(courses(club.id), club.id, epoch);
        expect(during.ids).not.to.include(id);
        ({ next } = during);
      },
    );
    expect((await run(courses(club.id), club.id, next)).ids).to.include(id);
  });

  it('contain a change whose transaction had begun, but had not written, at the run before', async () => {
    const id = newId();
    let next = epoch;
    await withOpenTransaction(
      (tx) => tx.manager.query('SELECT 1'),
      async (tx) => {
        ({ next } = await run(courses(club.id), club.id, epoch));
        await tx.manager.query(insertCourse(id)[0], [...insertCourse(id)[1]]);
      },
    );
    expect((await run(courses(club.id), club.id, next)).ids).to.include(id);
  });

  it('do not begin at a transaction that only reads', async () => {
    await withOpenTransaction(
      (tx) => tx.manager.query('SELECT 1'),
      async () => {
        await sleep(1_000);
        const db = new Queries((await testDatabase()).manager);
        const source = await testDatabase();
        const [{ begin }] = await source.query<[{ begin: Date }]>(
          `SELECT coalesce(min(xact_start) FILTER (WHERE backend_xid IS NOT NULL), now()) AS begin FROM pg_stat_activity WHERE datname = current_database()`,
        );
        const next = await readNextSince(db);
        expect(next.getTime()).to.be.at.least(
          Math.min(begin.getTime(), Date.now() - 500) - changeRules.clocksDifferMs - 50,
        );
      },
    );
  });

  it('begin ten minutes earlier while another role is connected, because Postgres hides its transactions', async () => {
    await withOpenTransaction(
      (tx) => tx.manager.query('SELECT 1'),
      async () => {
        await (
          await testDatabase()
        ).transaction(async (tx) => {
          const role = `reader_${randomInt(1e9)}`;
          await tx.query(`CREATE ROLE ${role}; SET LOCAL ROLE ${role}`);
          const next = await readNextSince(new Queries(tx));
          const earlierMs = Date.now() - next.getTime();
          expect(earlierMs).to.be.within(changeRules.hiddenTransactionMs, changeRules.hiddenTransactionMs + 60_000);
          await tx.query(`RESET ROLE; DROP ROLE ${role}`);
        });
      },
    );
  });

  it('never miss a change of 8 concurrent writers with transactions of 0 to 3 seconds', async () => {
    const source = await testDatabase();
    const versions = new Map<string, number>();
    const end = Date.now() + 15_000;
    const writer = async () => {
      while (Date.now() < end) {
        const isNew = versions.size < 40 || randomInt(4) === 0;
        const id = isNew ? newId() : ([...versions.keys()][randomInt(versions.size)] ?? newId());
        const commits = randomInt(5) > 0;
        const runner = source.createQueryRunner();
        await runner.startTransaction();
        await sleep(randomInt(200));
        try {
          if (isNew) await runner.query(insertCourse(id)[0], [...insertCourse(id)[1]]);
          else await runner.query(`UPDATE courses SET hours = coalesce(hours, 0) + 1 WHERE id = $1`, [id]);
          await sleep(randomInt(4) === 0 ? randomInt(3_000) : randomInt(50));
          if (!commits) {
            await runner.rollbackTransaction();
            continue;
          }
          await runner.commitTransaction();
          versions.set(id, isNew ? 0 : (versions.get(id) ?? 0) + 1);
        } finally {
          await runner.release();
        }
      }
    };
    const mirror = new Map<string, number>();
    let next = epoch;
    let runs = 0;
    const synchronize = async (size: number) => {
      const changes = await run(courses(club.id), club.id, next, size);
      for (const id of changes.ids) {
        const [course] = await source.query<{ hours: number | null }[]>(`SELECT hours FROM courses WHERE id = $1`, [
          id,
        ]);
        mirror.set(id, course?.hours ?? 0);
      }
      ({ next } = changes);
      runs++;
    };
    const follow = async () => {
      while (Date.now() < end) {
        await synchronize(randomInt(1, 20));
        await sleep(randomInt(300));
      }
    };
    await Promise.all([...Array.from({ length: 8 }, writer), follow()]);
    await synchronize(100);
    expect(runs).to.be.above(5);
    expect(versions.size).to.be.above(40);
    for (const [id, version] of versions) expect(mirror.get(id), `course ${id}`).to.equal(version);
  });
});
