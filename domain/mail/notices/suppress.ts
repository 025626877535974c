/** Suppresses addresses after bounces and complaints (CAMP-15). */
import type { SuppressionReason } from '../../../entities/mail/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

interface ToSuppress {
  clubId: Id;
  /** The keyed hash of the address. Null for a removed student, whose address is deleted. */
  addressKey: Buffer | null;
  reason: Exclude<SuppressionReason, 'manual'>;
}

/** Writes suppressions. A complaint replaces a bounce. A complaint or a bounce replaces a suppression that an administrator added. */
export async function suppress(tx: Transaction, addresses: readonly ToSuppress[], now: Date): Promise<void> {
  const strongest = new Map<string, ToSuppress & { addressKey: Buffer }>();
  for (const { clubId, addressKey, reason } of addresses) {
    if (addressKey === null) continue;
    const key = `${clubId} ${addressKey.toString('hex')}`;
    if (strongest.get(key)?.reason !== 'complaint') strongest.set(key, { clubId, addressKey, reason });
  }
  if (strongest.size === 0) return;
  // All requests lock the rows in this order, so that two requests cannot deadlock.
  const rows = [...strongest].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
  await tx.run(sql`INSERT INTO mail_suppressions AS suppression (club_id, address_key, reason, created_at)
    SELECT given.*, ${now}::timestamptz FROM unnest(${rows.map(({ clubId }) => clubId)}::uuid[], ${rows.map(({ addressKey }) => addressKey)}::bytea[],
      ${rows.map(({ reason }) => reason)}::text[]) AS given
    ON CONFLICT (club_id, address_key) DO UPDATE
       SET reason = CASE suppression.reason WHEN 'complaint' THEN suppression.reason ELSE excluded.reason END, from_soft_bounces = false`);
}
