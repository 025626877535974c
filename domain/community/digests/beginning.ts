/** Begins the daily digests, one digest for each club and local date. A digest begins in the morning or later (COMM-17). */
import { SpaceDigest } from '../../../entities/community/space-digest.ts';
import { planNames } from '../../../entities/billing/values.ts';
import { localDateOf } from '../../../platform/core/time/local-time.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { plans, type Plan } from '../../billing/plans.policy.ts';
import { planOf } from '../../billing/terms.ts';
import { digestRules } from './digests.policy.ts';

/** The transaction takes some tens of milliseconds. */
const digestsPerTransaction = 200;

const plansWithCommunity = () => planNames.filter((name) => (plans[name] as Plan).features.includes('community'));

/**
 * Begins a batch of digests. A digest begins between 8:00 and midnight of its date, in the club's time zone. If an outage lasts until the
 * end of the date, the club gets no digest for this date. After a change of the time zone, a club gets a digest only for a date after the
 * date of its last digest. A club also gets no new digest while an earlier digest is still open.
 * @returns the number of digests that began, and whether there may be more
 */
export async function beginDigests(db: Database, now: Date): Promise<{ begun: number; more: boolean }> {
  const zones = await db.rows<{ name: string }>(sql`SELECT DISTINCT time_zone AS name FROM clubs`);
  const mornings = zones
    .map(({ name }) => ({ name, ...localDateOf(digestRules.minuteOfDay, name, now) }))
    .filter(({ at }) => at <= now);
  if (mornings.length === 0) return { begun: 0, more: false };
  const takesUntil = new Date(now.getTime() - digestRules.marginMs);
  return db.transaction(async (tx) => {
    const startedDigests = await tx.rows<Pick<SpaceDigest, 'id' | 'clubId'>>(sql`
      INSERT INTO space_digests (id, club_id, date, takes_until, ends_at, members, looks_at, created_at)
      SELECT club.id::text || '/' || to_char(morning.date, 'YYYY-MM-DD'), club.id, morning.date, ${takesUntil}, morning.ends_at,
             (SELECT count(DISTINCT student_id) FROM community_memberships WHERE club_id = club.id AND digest), ${now}, ${now}
        FROM unnest(${mornings.map(({ name }) => name)}::text[], ${mornings.map(({ date }) => date)}::date[],
                    ${mornings.map(({ endsAt }) => endsAt)}::timestamptz[]) AS morning (zone, date, ends_at)
        JOIN clubs club ON club.time_zone = morning.zone AND club.erasing_at IS NULL
       WHERE EXISTS (SELECT FROM community_memberships WHERE club_id = club.id AND digest)
         AND NOT EXISTS (
           SELECT FROM space_digests earlier
            WHERE earlier.club_id = club.id AND (earlier.date >= morning.date OR (earlier.ended_at IS NULL AND earlier.ends_at > ${now})))
         AND EXISTS (SELECT FROM mail_senders WHERE club_id = club.id)
         AND ${planOf(sql`club.id`)} = ANY(${plansWithCommunity()}::text[])
       ORDER BY club.id LIMIT ${digestsPerTransaction}
      ON CONFLICT DO NOTHING
      RETURNING ${columns(SpaceDigest, ['id', 'clubId'])}`);
    await wake(tx, 'spaceDigest', startedDigests, now);
    return { begun: startedDigests.length, more: startedDigests.length === digestsPerTransaction };
  });
}
