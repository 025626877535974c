/** Clubs with a plan, and with as many students as a test needs. */
import type { PlanName } from '../../../domain/billing/plans.policy.ts';
import type { Id } from '../../../domain/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

/** Puts a club on a plan, as if billing had said so. @returns nothing: further columns are given by their names */
export async function putOnPlan(clubId: Id, plan: PlanName, more: Record<string, unknown> = {}): Promise<void> {
  const source = await testDatabase();
  const row = { club_id: clubId, plan, status: 'active', ...more };
  const columns = Object.keys(row);
  await source.query(
    `INSERT INTO club_plans (${columns.join(', ')}) VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})
     ON CONFLICT (club_id) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    Object.values(row),
  );
}

/** Adds students by one statement, who never signed up. */
export async function fillWithStudents(clubId: Id, count: number): Promise<void> {
  const source = await testDatabase();
  await source.query(
    `INSERT INTO students (id, club_id, name, email, created_at)
     SELECT id, $1, 'Stella Student', id || '@example.com', $3 FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $2)) AS ids`,
    [clubId, count, new Date()],
  );
}

/** Lets a club count as having so many students, without making them: tens of thousands take long. */
export async function countAsFull(clubId: Id, count: number): Promise<void> {
  const source = await testDatabase();
  await source.query(`INSERT INTO club_student_counts (club_id, students) VALUES ($1, $2)`, [clubId, count]);
}

/** How many students the club's count says, with the changes not yet folded into it; and how many there are. */
export async function studentCounts(clubId: Id): Promise<{ counted: number; there: number }> {
  const source = await testDatabase();
  const [row] = await source.query<{ counted: number; there: number }[]>(
    `SELECT ((SELECT coalesce(sum(students), 0) FROM club_student_counts WHERE club_id = $1)
             + (SELECT coalesce(sum(students), 0) FROM club_student_changes WHERE club_id = $1))::int AS counted,
            (SELECT count(*) FROM students WHERE club_id = $1 AND removed_at IS NULL)::int AS there`,
    [clubId],
  );
  if (!row) throw new Error('A query of one row has one.');
  return row;
}

/** The overage recorded of a club, as `resource month excess`. */
export async function overagesOf(clubId: Id): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ text: string }[]>(
    `SELECT concat_ws(' ', resource, month, excess) AS text FROM overages WHERE club_id = $1 ORDER BY 1`,
    [clubId],
  );
  return rows.map(({ text }) => text);
}
