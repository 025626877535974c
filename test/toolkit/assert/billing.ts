/** Reads the billing records of a club: its plan, add-ons, overages, and number of students. */
import type { Id } from '../../../platform/core/ids.ts';
import type { TestEvent } from '../builders/billing-events.ts';
import { testDatabase } from '../stack/database.ts';

/** `counted` is the stored number of the club's students plus changes that are not merged yet. `there` is the number of student rows. */
export async function studentCounts(clubId: Id): Promise<{ counted: number; there: number }> {
  const source = await testDatabase();
  const [row] = await source.query<{ counted: number; there: number }[]>(
    `SELECT ((SELECT coalesce(sum(students), 0) FROM club_student_counts WHERE club_id = $1)
             + (SELECT coalesce(sum(students), 0) FROM club_student_changes WHERE club_id = $1))::int AS counted,
            (SELECT count(*) FROM students WHERE club_id = $1 AND removed_at IS NULL
                AND (verified_at IS NOT NULL OR opened_by <> 'sign_up'))::int AS there`,
    [clubId],
  );
  if (!row) throw new Error('The count of students returned no row');
  return row;
}

/** The recorded overages of a club, each as the text `resource month excess`. */
export async function overagesOf(clubId: Id): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ text: string }[]>(
    `SELECT concat_ws(' ', resource, month, excess) AS text FROM overages WHERE club_id = $1 ORDER BY 1`,
    [clubId],
  );
  return rows.map(({ text }) => text);
}

export async function addOnRow(id: Id): Promise<Record<string, unknown>> {
  const source = await testDatabase();
  const [row] = await source.query<Record<string, unknown>[]>(`SELECT * FROM add_ons WHERE id = $1`, [id]);
  if (!row) throw new Error(`There is no add-on ${id}.`);
  return row;
}

/** Undefined if the club has no plan. */
export async function planRow(clubId: Id): Promise<Record<string, unknown> | undefined> {
  const source = await testDatabase();
  const [row] = await source.query<Record<string, unknown>[]>(
    `SELECT plan, status, customer_id, subscription_id, current_period_end, currency, changed_at FROM club_plans WHERE club_id = $1`,
    [clubId],
  );
  return row;
}

/** Undefined if the event was not recorded. */
export async function outcomeOfEvent({ id }: TestEvent): Promise<string | undefined> {
  const source = await testDatabase();
  const [row] = await source.query<{ outcome: string }[]>(`SELECT outcome FROM billing_events WHERE id = $1`, [id]);
  return row?.outcome;
}
