/** Rows of add-ons, for tests. */
import { newId, type Id } from '../../../domain/core/ids.ts';
import { workflowIdOf } from '../../../domain/facts/workflow-names.policy.ts';
import { testDatabase } from '../stack/database.ts';

/** An add-on of 100 students as its buyer leaves it, pending and due, unless told otherwise. */
export async function insertAddOn(clubId: Id, more: Record<string, unknown> = {}): Promise<{ id: Id; clubId: Id }> {
  const source = await testDatabase();
  const now = new Date();
  const row = {
    id: newId(),
    club_id: clubId,
    kind: 'students',
    quantity: 1,
    adds: 100,
    amount: 1_000,
    currency: 'usd',
    status: 'pending',
    customer_id: `cus_${clubId}`,
    created_at: now,
    next_attempt_at: now,
    ...more,
  };
  const columns = Object.keys(row);
  await source.query(
    `INSERT INTO add_ons (${columns.join(', ')}) VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})`,
    Object.values(row),
  );
  return { id: row.id, clubId };
}

/** @throws Error where there is none */
export async function addOnRow(id: Id): Promise<Record<string, unknown>> {
  const source = await testDatabase();
  const [row] = await source.query<Record<string, unknown>[]>(`SELECT * FROM add_ons WHERE id = $1`, [id]);
  if (!row) throw new Error(`There is no add-on ${id}.`);
  return row;
}

/** The types of the workflows that are to look at an add-on. */
export async function wakesOf(id: Id): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ type: string }[]>(
    `SELECT workflow_type AS type FROM wakes WHERE workflow_id = $1`,
    [workflowIdOf('addOn', id)],
  );
  return rows.map(({ type }) => type);
}
