import { Queries } from '../../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { sql } from '../../../../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../../../../platform/core/ids.ts';
import { search, searchRules } from '../../../../../platform/infra/postgres/lists/search.ts';
import { listStudents, type StudentFilter } from '../../../../../domain/identity/students.ts';
import { buildClub } from '../../../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps } from '../../../../toolkit/stack/database.ts';

const size = 12_000;

describe('search in a list of 12,000 students', () => {
  let clubId: Id;
  before(async () => {
    const source = await testDatabase();
    clubId = (await buildClub()).id;
    // The oldest 50 students are called Ancient. One in 2,000 students is called Rare, and one in 3 is called Common. The very first
    // student is called Qz. The newest 10 and the oldest 20 students are called Fresh.
    await source.query(
      `INSERT INTO students (id, club_id, name, email, verified_at, created_at)
       SELECT gen_random_uuid(), $1,
              concat_ws(' ', 'N' || n, CASE WHEN n % 2000 = 0 THEN 'Rare' END, CASE WHEN n <= 50 THEN 'Ancient' END,
                        CASE WHEN n % 3 = 0 THEN 'Common' END, CASE WHEN n IN (1, 6000) THEN 'Qz' END, CASE WHEN n <= 20 OR n > ${size - 10} THEN 'Fresh' END),
              'n' || n || '.' || $2 || '@example.com', CASE WHEN n % 2 = 0 THEN now() END, '2026-01-01'::timestamptz + make_interval(secs => n)
         FROM generate_series(1, ${size}) AS n`,
      [clubId, newId()],
    );
    await source.query(`ANALYZE students`);
  });

  const list = async (filter: Partial<StudentFilter>) => {
    const { db, storage } = await testDeps();
    const { rows, total } = await listStudents(db, storage, clubId, { page: 1, page_size: 100, ...filter });
    return { names: rows.map(({ name }) => name), total };
  };
  const numbers = (names: readonly string[]) => names.map((name) => Number(/^N(\d+)/.exec(name)?.[1]));
  const downwards = (from: number, step: number, count: number) =>
    Array.from({ length: count }, (_, index) => from - step * index);

  it('finds all students with a rare text, however old they are, and lists the newest student first', async () => {
    const rare = await list({ q: 'rare' });
    expect([rare.total, numbers(rare.names)]).to.deep.equal([6, downwards(12_000, 2_000, 6)]);
    const ancient = await list({ q: 'ANCIENT' });
    expect([ancient.total, numbers(ancient.names)]).to.deep.equal([50, downwards(50, 1, 50)]);
    const one = await list({ q: 'n7777.' });
    expect([one.total, numbers(one.names)]).to.deep.equal([1, [7_777]]);
  });

  it('finds only students who match both the text and a filter', async () => {
    const { total, names } = await list({ q: 'ancient', verified: true });
    expect([total, numbers(names)]).to.deep.equal([25, downwards(50, 2, 25)]);
  });

  it('finds the newest 1,000 students for a common text, page by page', async () => {
    for (const [q, step] of [
      ['common', 3],
      ['example', 1],
      ['n', 1],
    ] as const) {
      const found = await list({ q, page: 4 });
      expect(found.total, q).to.equal(searchRules.max);
      expect(numbers(found.names), q).to.deep.equal(downwards(12_000 - 300 * step, step, 100));
      expect(numbers((await list({ q, page: 10 })).names).at(-1), q).to.equal(12_000 - 999 * step);
      expect((await list({ q, page: 11 })).names, q).to.deep.equal([]);
    }
  });

  it('searches only the newest 10,000 students for a text without three letters or digits in a row', async () => {
    const { total, names } = await list({ q: 'qz' });
    expect([total, numbers(names)]).to.deep.equal([1, [6_000]]);
  });

  it('finds nothing for a text that no record has', async () => {
    for (const q of ['no such name', 'xq', '%%']) expect(await list({ q }), q).to.deep.equal({ names: [], total: 0 });
  });

  const found = async (text: string, rules: Partial<typeof searchRules>) => {
    const { manager } = await testDatabase();
    const everybody = {
      from: 'students student',
      alias: 'student',
      orderedBy: 'created_at',
      conditions: sql`student.club_id = ${clubId}`,
      matching: sql`student.name ILIKE ${`%${text}%`}`,
    };
    const ids = await search(new Queries(manager), text, everybody, { ...searchRules, ...rules });
    const rows = await manager.query<{ id: Id; name: string }[]>(`SELECT id, name FROM students WHERE id = ANY ($1)`, [
      ids,
    ]);
    const names = new Map(rows.map(({ id, name }) => [id, name]));
    return numbers(ids.map((id) => names.get(id) ?? ''));
  };

  it('finds all students with a text that is common among the newest students and rare among older ones', async () => {
    const all = [...downwards(12_000, 1, 10), ...downwards(20, 1, 20)];
    expect(await found('fresh', { probe: 50, common: 5, walk: 500, max: 100 })).to.deep.equal(all);
    expect(await found('fresh', { probe: 50, common: 5, walk: 500, max: 8 })).to.deep.equal(all.slice(0, 8));
  });

  it('finds the newest students, whichever query plan it uses, if more students match than the limit', async () => {
    expect(await found('rare', { max: 4 })).to.deep.equal(downwards(12_000, 2_000, 4));
    expect(await found('rare', { max: 4, probe: 5_000, common: 1 })).to.deep.equal(downwards(12_000, 2_000, 4));
    expect(await found('common', { max: 40, probe: 50 })).to.deep.equal(downwards(12_000, 3, 40));
  });

  it('counts all students exactly without a search text', async () => {
    expect((await list({})).total).to.equal(size);
    expect((await list({ verified: false })).total).to.equal(size / 2);
    expect((await list({ q: '  ' })).total).to.equal(size);
  });

  it('uses the trigram index for a rare text', async () => {
    const source = await testDatabase();
    const [plan] = await source.query<object[]>(
      `EXPLAIN (FORMAT JSON) SELECT id FROM students student
        WHERE student.club_id = $1 AND student.removed_at IS NULL AND (student.name ILIKE '%quetzal%' OR student.email ILIKE '%quetzal%')`,
      [clubId],
    );
    expect(JSON.stringify(plan)).to.contain('"Index Name":"students_search"');
  });
});
