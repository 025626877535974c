import { expect } from 'chai';
import { Club } from '../../../../entities/clubs/club.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { ascending, descending } from '../../../../platform/infra/postgres/lists/order.ts';
import { listPage } from '../../../../platform/infra/postgres/lists/page.ts';
import { sqlStateOf } from '../../../../platform/infra/postgres/errors.ts';
import { prepared } from '../../../../platform/infra/postgres/prepared.ts';
import { columns, selection, sql } from '../../../../platform/infra/postgres/sql.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

describe('Queries', () => {
  let db: Database;
  let clubId: string;
  before(async () => {
    db = (await testDeps()).db;
    clubId = (await buildClub()).id;
  });

  const named = () => sql`UPDATE clubs SET name = name WHERE id = ${clubId}`;
  const returning = () => sql`${named()} RETURNING ${columns(Club, ['id'])}`;

  it('returns the rows of every kind of statement', async () => {
    const rows = [{ id: clubId }];
    expect(await db.rows(sql`SELECT id FROM clubs WHERE id = ${clubId}`), 'SELECT').to.deep.equal(rows);
    expect(await db.rows(returning()), 'UPDATE … RETURNING').to.deep.equal(rows);
    expect(await db.rows(named()), 'UPDATE').to.deep.equal([]);
    expect(await db.rows(sql`WITH given AS (SELECT 1) ${returning()}`), 'WITH … UPDATE').to.deep.equal(rows);
    expect(await db.rows(sql`WITH changed AS (${returning()}) SELECT id FROM changed`), 'WITH … SELECT').to.deep.equal(
      rows,
    );
    expect(await db.rows(sql`DELETE FROM clubs WHERE id = ${clubId} AND false RETURNING id`), 'DELETE').to.deep.equal(
      [],
    );
    expect(await db.rows(sql`SELECT 1 AS a UNION ALL SELECT 2 ORDER BY a`), 'two rows').to.deep.equal([
      { a: 1 },
      { a: 2 },
    ]);
    expect(
      await db.rows(sql`INSERT INTO facts (id, club_id, type, student_id, occurred_at)
        SELECT id, id, 'student.created', id, now() FROM clubs WHERE false RETURNING id`),
      'INSERT … RETURNING',
    ).to.deep.equal([]);
  });

  it('returns the first row, or undefined', async () => {
    expect(await db.one(returning())).to.deep.equal({ id: clubId });
    expect(await db.one(sql`SELECT id FROM clubs WHERE false`)).to.equal(undefined);
  });

  it('counts the rows that an UPDATE or a DELETE changed', async () => {
    expect(await db.run(named())).to.equal(1);
    expect(await db.run(returning())).to.equal(1);
    expect(await db.run(sql`DELETE FROM clubs WHERE id = ${clubId} AND false`)).to.equal(0);
    expect(await db.run(sql`SELECT 1`)).to.equal(0);
  });

  it('runs prepared statements inside and outside a transaction', async () => {
    const backend = prepared<{ pid: number }>('queries_test_backend', () => 'SELECT pg_backend_pid() AS pid');
    await db.transaction(async (tx) => {
      const own = await tx.one<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`);
      expect(await backend(tx, {})).to.deep.equal([own]);
    });
    expect(await backend(db, {})).to.have.length(1);
  });

  it('lists a page, and counts all rows of the list', async () => {
    const from = sql`FROM generate_series(1, ${7}) AS n`;
    const numbers = { columns: selection<{ n: number }>(sql`n`), from, orderBy: [descending('n', 'int')] as const };
    expect(await listPage(db, { page: 2, page_size: 3 }, numbers)).to.deep.equal({
      rows: [{ n: 4 }, { n: 3 }, { n: 2 }],
      total: 7,
      next: undefined,
    });
    expect(await listPage(db, { page: 4, page_size: 3 }, numbers)).to.deep.equal({
      rows: [],
      total: 7,
      next: undefined,
    });
  });

  it('returns a total from other tables or from the caller', async () => {
    const from = sql`FROM generate_series(1, 7) AS n CROSS JOIN generate_series(1, 2) AS twice`;
    const pairs = {
      columns: selection<{ n: number }>(sql`n`),
      from,
      orderBy: [ascending('n', 'int'), ascending('twice', 'int')] as const,
    };
    const next = undefined;
    const counted = sql`FROM generate_series(1, 7)`;
    const list = (more: object) => listPage(db, { page: 1, page_size: 3 }, { ...pairs, ...more });
    const rows = [{ n: 1 }, { n: 1 }, { n: 2 }];
    expect(await list({})).to.deep.equal({ rows, total: 14, next });
    expect(await list({ counted })).to.deep.equal({ rows, total: 7, next });
    expect(await list({ counted, total: 5 })).to.deep.equal({ rows, total: 5, next });
    expect(await list({ total: async () => 0 })).to.deep.equal({ rows, total: 0, next });
  });

  it('does not run the count if the page shows the end of the list', async () => {
    const uncountable = { columns: selection<{ n: number }>(sql`n`), orderBy: sql`n`, counted: sql`FROM nowhere` };
    const upTo = (length: number) => ({ ...uncountable, from: sql`FROM generate_series(1, ${length}::int) AS n` });
    expect(await listPage(db, { page: 2, page_size: 3 }, upTo(5))).to.deep.equal({
      rows: [{ n: 4 }, { n: 5 }],
      total: 5,
      next: undefined,
    });
    expect(await listPage(db, { page: 1, page_size: 3 }, upTo(0))).to.deep.equal({
      rows: [],
      total: 0,
      next: undefined,
    });
    for (const page of [2, 3])
      // A full page, or a page after the end, does not show the total. So the count runs, and fails.
      expect(sqlStateOf(await listPage(db, { page, page_size: 3 }, upTo(6)).catch((error: unknown) => error))).to.equal(
        '42P01',
      );
  });

  it('shows by one further row whether another page follows', async () => {
    const orderBy = [ascending('n', 'int')] as const;
    const list = { columns: selection<{ n: number }>(sql`n`), orderBy, counted: sql`FROM nowhere` };
    const six = { ...list, from: sql`FROM generate_series(1, 6) AS n WHERE true` };
    const cursor = {
      isAfter: false,
      changedSince: undefined,
      after: () => undefined,
      following: (_: unknown, keys: readonly string[]) => keys.join(),
    };
    const rows = [{ n: 4 }, { n: 5 }, { n: 6 }];
    expect(await listPage(db, { page: 2, page_size: 3, cursor }, six)).to.deep.equal({
      rows,
      total: 6,
      next: undefined,
    });
    expect((await listPage(db, { page: 1, page_size: 3, cursor }, { ...six, total: 6 })).next).to.equal('3');
  });
});
