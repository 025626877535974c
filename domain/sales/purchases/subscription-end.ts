/**
 * The step of `subscription-end/<id>`. It reads the end of a canceled subscription's access, and records when it has passed. An
 * administrator who changes the access wakes the run.
 */
import { Subscription } from '../../../entities/sales/subscription.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';

export type SubscriptionEndStep = { done: true; outcome: 'ended' | 'revoked' | 'open' } | { done: false; at: number };

/** @param now Unix milliseconds */
export async function lookAtSubscriptionEnd(db: Queries, id: Id, now: number): Promise<SubscriptionEndStep> {
  const access = await db.one<{ open: boolean; endsAt: Date | null; revokedAt: Date | null }>(
    sql`SELECT coalesce(bool_or(revoked_at IS NULL AND ends_at IS NULL), false) AS open,
               max(ends_at) FILTER (WHERE revoked_at IS NULL) AS "endsAt", max(revoked_at) AS "revokedAt"
          FROM enrollments WHERE origin_id = ${id}`,
  );
  const { open = false, endsAt = null, revokedAt = null } = access ?? {};
  if (open) return recordEnd(db, id, { looksAt: null, endedAt: null }, { done: true, outcome: 'open' });
  if (endsAt !== null && endsAt.getTime() > now)
    return recordEnd(db, id, { looksAt: endsAt, endedAt: null }, { done: false, at: endsAt.getTime() });
  if (endsAt !== null) return recordEnd(db, id, { looksAt: null, endedAt: endsAt }, { done: true, outcome: 'ended' });
  return recordEnd(db, id, { looksAt: null, endedAt: revokedAt }, { done: true, outcome: 'revoked' });
}

async function recordEnd(
  db: Queries,
  id: Id,
  { looksAt, endedAt }: { looksAt: Date | null; endedAt: Date | null },
  step: SubscriptionEndStep,
): Promise<SubscriptionEndStep> {
  await db.manager.update(Subscription, { id }, { endLooksAt: looksAt, accessEndedAt: endedAt });
  return step;
}
