/** Adds to the counts of an erasure. */
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

/** Adds to the count of a table or a bucket. For exact counts, call it in the transaction that erases the rows. */
export async function addCount(
  db: Queries,
  erasureId: Id,
  kind: 'tables' | 'buckets',
  name: string,
  count: number,
): Promise<void> {
  await db.run(sql`
    UPDATE erasures SET counts = jsonb_set(
        jsonb_set(counts, ARRAY[${kind}::text], coalesce(counts->${kind}::text, '{}')), ARRAY[${kind}::text, ${name}::text],
        to_jsonb(coalesce((counts->${kind}::text->>${name}::text)::bigint, 0) + ${count}::bigint))
     WHERE id = ${erasureId}`);
}

/** Adds to the number of terminated runs. */
export async function addRuns(db: Queries, erasureId: Id, count: number): Promise<void> {
  await db.run(sql`
    UPDATE erasures SET counts = jsonb_set(counts, '{runs}', to_jsonb(coalesce((counts->>'runs')::bigint, 0) + ${count}::bigint))
     WHERE id = ${erasureId}`);
}
