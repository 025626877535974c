import { Queries } from '../../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { sqlStateOf } from '../../../../../platform/infra/postgres/errors.ts';
import { newId, type Id } from '../../../../../platform/core/ids.ts';
import type { TalliedList } from '../../../../../entities/facts/values.ts';
import { countListed, rollUpListTallies } from '../../../../../platform/infra/postgres/lists/counts.ts';
import { buildClub } from '../../../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps } from '../../../../toolkit/stack/database.ts';

/** Counts the rows of a list one by one. */
const counted: Record<
  Exclude<
    TalliedList,
    | `mails_${string}`
    | `automation_${string}`
    | `submissions_${string}`
    | `media_${string}`
    | `space_${string}`
    | `post_${string}`
    | `reactions_${string}`
    | `sessions_${string}`
    | 'reports_open'
    | 'moderations'
  >,
  string
> = {
  students: `SELECT NULL::uuid AS subject, verified_at IS NOT NULL AS marked FROM students WHERE removed_at IS NULL AND club_id = $1`,
  enrollments: `SELECT delivery_id, revoked_at IS NOT NULL FROM enrollments WHERE revoked_reason IS DISTINCT FROM 'removal' AND club_id = $1`,
  certificates: `SELECT course_id, revoked_at IS NOT NULL FROM certificates WHERE club_id = $1`,
};

/** A club with two courses, each with a delivery. */
async function buildCourses() {
  const source = await testDatabase();
  const { id: clubId } = await buildClub();
  const [courses, deliveries] = [
    [newId(), newId()],
    [newId(), newId()],
  ];
  for (const [place, course] of courses.entries()) {
    await source.query(
      `INSERT INTO courses (id, club_id, public_id, title, status, created_at, updated_at) VALUES ($1, $2, $3, 'Knots', 'draft', now(), now())`,
      [course, clubId, `knots-${place}`],
    );
    await source.query(
      `INSERT INTO access_deliveries (id, club_id, name, kind, course_id, created_at, updated_at) VALUES ($1, $2, 'Knots', 'course', $3, now(), now())`,
      [deliveries[place], clubId, course],
    );
  }
  return { clubId, courses, deliveries };
}

type Scene = Awaited<ReturnType<typeof buildCourses>>;

/**
 * Statements that change many rows. A digit limits each statement to a part of the ids. Some statements come from the service, and some
 * only from an operator.
 */
const acts: Record<string, (scene: Scene, digit: number) => string> = {
  'students come': ({ clubId }) => `
    INSERT INTO students (id, club_id, name, email, verified_at, created_at)
    SELECT gen_random_uuid(), '${clubId}', 'S', gen_random_uuid() || '@example.com', CASE WHEN n % 3 = 0 THEN now() END, now()
      FROM generate_series(1, 7) AS n`,
  'some confirm': (scene, digit) =>
    `UPDATE students SET verified_at = now() WHERE removed_at IS NULL AND ${part(scene, digit)}`,
  'some move': (scene, digit) => `UPDATE students SET verified_at = NULL, name = 'T' WHERE ${part(scene, digit)}`,
  'some are removed': (scene, digit) =>
    `UPDATE students SET removed_at = now(), email = NULL WHERE removed_at IS NULL AND ${part(scene, digit)}`,
  'some vanish': (scene, digit) => `DELETE FROM students WHERE ${part(scene, digit)}`,
  'students enroll': (scene, digit) => `
    INSERT INTO enrollments (id, club_id, student_id, delivery_id, source, starts_at, created_at, updated_at)
    SELECT gen_random_uuid(), club_id, id, '${scene.deliveries[digit % 2]}', 'grant', now(), now(), now() FROM students
     WHERE ${part(scene, digit)} ON CONFLICT DO NOTHING`,
  'enrollments are revoked': (scene, digit) => `
    UPDATE enrollments SET revoked_at = now(), revoked_reason = '${digit % 3 === 0 ? 'removal' : 'refund'}' WHERE ${part(scene, digit)}`,
  'enrollments change hands': (scene, digit) =>
    `UPDATE enrollments SET delivery_id = '${scene.deliveries[0]}', superseded_at = now() WHERE ${part(scene, digit)}`,
  'certificates are issued': (scene, digit) => `
    INSERT INTO certificates (id, club_id, student_id, course_id, code, student_name, student_email, course_title, club_name, lesson_count, verify_url, issued_at)
    SELECT gen_random_uuid(), club_id, id, '${scene.courses[digit % 2]}', gen_random_uuid(), 'S', 's@example.com', 'Knots', 'Club', 1, '', now() FROM students
     WHERE ${part(scene, digit)} ON CONFLICT DO NOTHING`,
  'certificates are revoked': (scene, digit) =>
    `UPDATE certificates SET revoked_at = now(), revoked_reason = 'error' WHERE ${part(scene, digit)}`,
  'certificates become valid again': (scene, digit) =>
    `UPDATE certificates SET revoked_at = NULL, revoked_reason = NULL WHERE ${part(scene, digit)}`,
};

function part({ clubId }: Scene, digit: number): string {
  return `club_id = '${clubId}' AND right(id::text, 1) >= '${digit.toString(16)}'`;
}

/** The SQLSTATE codes of a deadlock, and of a write for a student who was deleted before the write. */
const refusals = new Set(['40P01', '23503']);

/** Performs an act in a transaction, which is rolled back if `undone` is true or if Postgres refuses the act because of a conflict. */
async function perform(scene: Scene, act: string, digit: number, undone: boolean): Promise<void> {
  const { db } = await testDeps();
  const regret = new Error('undone');
  await db
    .transaction(async (tx) => {
      await tx.manager.query(acts[act]?.(scene, digit) ?? '');
      if (undone) throw regret;
    })
    .catch((error: unknown) => {
      if (error !== regret && !refusals.has(sqlStateOf(error) ?? '')) throw error;
    });
}

/** Compares each total of each list with a count of its rows. Both come from one snapshot of the database. */
async function totals({ clubId, courses, deliveries }: Scene) {
  const source = await testDatabase();
  return source.transaction('REPEATABLE READ', async (tx) => {
    const found: Record<string, [tallied: number, counted: number]> = {};
    for (const list of ['students', 'enrollments', 'certificates'] as const) {
      const subjects: (Id | undefined)[] = { students: [], enrollments: deliveries, certificates: courses }[list];
      for (const subjectId of [undefined, ...subjects]) {
        for (const marked of [undefined, true, false]) {
          const [row] = await tx.query<{ n: number }[]>(
            `SELECT count(*)::int AS n FROM (${counted[list]}) AS one (subject, marked)
              WHERE ($2::uuid IS NULL OR subject = $2) AND ($3::boolean IS NULL OR marked = $3)`,
            [clubId, subjectId ?? null, marked ?? null],
          );
          const place = `${list} ${subjects.indexOf(subjectId)} ${String(marked)}`;
          found[place] = [await countListed(new Queries(tx), { list, clubId, subjectId, marked }), row?.n ?? 0];
        }
      }
    }
    return found;
  });
}

function expectExact(found: Record<string, [number, number]>): void {
  const [tallied, one] = [0, 1].map((side) =>
    Object.fromEntries(Object.entries(found).map(([place, pair]) => [place, pair[side]])),
  );
  expect(tallied).to.deep.equal(one);
}

describe('list totals', () => {
  const step = fc.record({
    act: fc.constantFrom(...Object.keys(acts)),
    digit: fc.integer({ min: 0, max: 15 }),
    undone: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
  });

  it('are exact at each moment, even during simultaneous changes, rollbacks and rollups', async () => {
    const { db } = await testDeps();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 4, maxLength: 10 }),
        async (rounds) => {
          const scene = await buildCourses();
          await perform(scene, 'students come', 0, false);
          for (const round of rounds) {
            const [found] = await Promise.all([
              totals(scene),
              rollUpListTallies(db, 5),
              rollUpListTallies(db, 3),
              ...round.map(({ act, digit, undone }) => perform(scene, act, digit, undone)),
            ]);
            expectExact(found);
            expectExact(await totals(scene));
          }
        },
      ),
      { numRuns: 12 },
    );
  }).timeout(120_000);

  it('stay the same after a complete rollup, which deletes tallies of zero', async () => {
    const { db } = await testDeps();
    const scene = await buildCourses();
    for (let n = 0; n < 3; n++) await perform(scene, 'students come', n, false);
    const all = await totals(scene);
    expect(all['students -1 undefined']).to.deep.equal([21, 21]);
    while ((await rollUpListTallies(db, 1_000)) > 0);
    expect(await totals(scene)).to.deep.equal(all);
    await db.source.query(`DELETE FROM students WHERE club_id = $1`, [scene.clubId]);
    while ((await rollUpListTallies(db, 1_000)) > 0);
    expect(await db.source.query(`SELECT * FROM list_tallies WHERE club_id = $1`, [scene.clubId])).to.deep.equal([]);
    expect((await totals(scene))['students -1 undefined']).to.deep.equal([0, 0]);
  });

  it('write no tally for a change of columns that do not affect a total', async () => {
    const { db } = await testDeps();
    const scene = await buildCourses();
    await perform(scene, 'students come', 0, false);
    const changes = () =>
      db.source.query<{ n: number }[]>(`SELECT count(*)::int AS n FROM list_tally_changes WHERE club_id = $1`, [
        scene.clubId,
      ]);
    const before = await changes();
    await db.source.query(
      `UPDATE students SET name = 'Other', points = 5, verified_at = verified_at WHERE club_id = $1`,
      [scene.clubId],
    );
    await db.source.query(`UPDATE students SET verified_at = now() WHERE club_id = $1 AND verified_at IS NOT NULL`, [
      scene.clubId,
    ]);
    expect(await changes()).to.deep.equal(before);
  });
});
