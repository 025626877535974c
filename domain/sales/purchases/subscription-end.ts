/**
 * The step of `subscription-end/<id>`: looks at the end that is recorded of a canceled subscription's access, and notes when
 * it has come. An administrator who extends, restores or revokes wakes it; what is recorded then counts.
 */
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';

export type SubscriptionEndStep = { done: true; outcome: 'ended' | 'revoked' | 'open' } | { done: false; at: number };

/** @param now Unix milliseconds */
export async function lookAtSubscriptionEnd(source: DataSource, id: Id, now: number): Promise<SubscriptionEndStep> {
  const [access] = await source.query<{ open: boolean; endsAt: Date | null; revokedAt: Date | null }[]>(
    `SELECT coalesce(bool_or(revoked_at IS NULL AND ends_at IS NULL), false) AS open,
            max(ends_at) FILTER (WHERE revoked_at IS NULL) AS "endsAt", max(revoked_at) AS "revokedAt"
       FROM enrollments WHERE origin_id = $1`,
    [id],
  );
  const { open = false, endsAt = null, revokedAt = null } = access ?? {};
  if (open) return note(source, id, { looksAt: null, endedAt: null }, { done: true, outcome: 'open' });
  if (endsAt !== null && endsAt.getTime() > now)
    return note(source, id, { looksAt: endsAt, endedAt: null }, { done: false, at: endsAt.getTime() });
  if (endsAt !== null) return note(source, id, { looksAt: null, endedAt: endsAt }, { done: true, outcome: 'ended' });
  return note(source, id, { looksAt: null, endedAt: revokedAt }, { done: true, outcome: 'revoked' });
}

async function note(
  source: DataSource,
  id: Id,
  { looksAt, endedAt }: { looksAt: Date | null; endedAt: Date | null },
  step: SubscriptionEndStep,
): Promise<SubscriptionEndStep> {
  await source.query(`UPDATE subscriptions SET end_looks_at = $2, access_ended_at = $3 WHERE id = $1`, [
    id,
    looksAt,
    endedAt,
  ]);
  return step;
}
