/**
 * The step of `subscription-end/<id>`: looks at the end that is recorded of a canceled subscription's access, and notes when
 * it has come. An administrator who extends, restores or revokes wakes it; what is recorded then counts.
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
  if (open) return note(db, id, { looksAt: null, endedAt: null }, { done: true, outcome: 'open' });
  if (endsAt !== null && endsAt.getTime() > now)
    return note(db, id, { looksAt: endsAt, endedAt: null }, { done: false, at: endsAt.getTime() });
  if (endsAt !== null) return note(db, id, { looksAt: null, endedAt: endsAt }, { done: true, outcome: 'ended' });
  return note(db, id, { looksAt: null, endedAt: revokedAt }, { done: true, outcome: 'revoked' });
}

async function note(
  db: Queries,
  id: Id,
  { looksAt, endedAt }: { looksAt: Date | null; endedAt: Date | null },
  step: SubscriptionEndStep,
): Promise<SubscriptionEndStep> {
  await db.manager.update(Subscription, { id }, { endLooksAt: looksAt, accessEndedAt: endedAt });
  return step;
}
