/**
 * Suppresses an address after several soft bounces without a delivery between them (CAMP-15). Events may arrive in any order, so a delivery
 * that is reported late lifts such a suppression (BNC-8).
 */
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

/** After this many soft bounces in a row, the address is suppressed as if it did not exist. */
const softBouncesBeforeSuppression = 5;

/** Ids of mails whose events changed in this transaction. */
interface ChangedMails {
  /** New soft bounces. */
  bounced: readonly Id[];
  /** A first delivery, or an earlier one than before. */
  delivered: readonly Id[];
  deliveredEarlier: readonly Id[];
}

/** Counts the soft bounces of the addresses of these mails, and suppresses the addresses or lifts their suppressions. */
export async function judgeSoftBounces(
  tx: Transaction,
  { bounced, delivered, deliveredEarlier }: ChangedMails,
  now: Date,
): Promise<void> {
  const mayRise = [...bounced, ...deliveredEarlier];
  if (mayRise.length === 0 && delivered.length === 0) return;
  const addresses = await tx.rows<{ clubId: Id; addressKey: Buffer; mayRise: boolean; isTooMany: boolean }>(sql`
    SELECT touched.club_id AS "clubId", touched.address_key AS "addressKey", touched.id = ANY(${mayRise}::uuid[]) AS "mayRise",
      ${softBouncesBeforeSuppression} <= (SELECT count(*) FROM mails mail JOIN mail_soft_bounces soft ON soft.mail_id = mail.id
        WHERE mail.student_id = touched.student_id AND mail.address_key = touched.address_key
          AND soft.at > coalesce((SELECT max(mail.delivered_at) FROM mails mail
            WHERE mail.student_id = touched.student_id AND mail.address_key = touched.address_key), '-infinity')) AS "isTooMany"
      FROM mails touched
     WHERE touched.address_key IS NOT NULL AND (touched.id = ANY(${mayRise}::uuid[]) OR (touched.id = ANY(${delivered}::uuid[])
       AND EXISTS (SELECT FROM mail_suppressions suppression WHERE suppression.club_id = touched.club_id
         AND suppression.address_key = touched.address_key AND suppression.from_soft_bounces)))`);
  await suppressSoftly(
    tx,
    addresses.filter((address) => address.mayRise && address.isTooMany),
    now,
  );
  await lift(
    tx,
    addresses.filter(({ isTooMany }) => !isTooMany),
  );
}

interface Address {
  clubId: Id;
  addressKey: Buffer;
}

/** All requests lock the rows in this order, so that two requests cannot deadlock. */
function inLockOrder(addresses: readonly Address[]): Address[] {
  const byKey = new Map(
    addresses.map((address) => [`${address.clubId} ${address.addressKey.toString('hex')}`, address]),
  );
  return [...byKey].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, address]) => address);
}

/** Every other reason stays, so that a late delivery can restore the state before. */
async function suppressSoftly(tx: Transaction, addresses: readonly Address[], now: Date): Promise<void> {
  if (addresses.length === 0) return;
  const rows = inLockOrder(addresses);
  await tx.run(sql`INSERT INTO mail_suppressions AS suppression (club_id, address_key, reason, from_soft_bounces, created_at)
    SELECT given.club_id, given.address_key, 'bounce', true, ${now}::timestamptz
      FROM unnest(${rows.map(({ clubId }) => clubId)}::uuid[], ${rows.map(({ addressKey }) => addressKey)}::bytea[]) AS given (club_id, address_key)
    ON CONFLICT (club_id, address_key) DO UPDATE SET reason = 'bounce', from_soft_bounces = true WHERE suppression.reason IS NULL`);
}

async function lift(tx: Transaction, addresses: readonly Address[]): Promise<void> {
  for (const { clubId, addressKey } of inLockOrder(addresses)) {
    await tx.run(sql`UPDATE mail_suppressions SET reason = NULL, from_soft_bounces = false
      WHERE club_id = ${clubId} AND address_key = ${addressKey} AND from_soft_bounces
        AND num_nonnulls(left_campaigns_at, left_automations_at, left_digests_at) > 0`);
    await tx.run(sql`DELETE FROM mail_suppressions
      WHERE club_id = ${clubId} AND address_key = ${addressKey} AND from_soft_bounces`);
  }
}
