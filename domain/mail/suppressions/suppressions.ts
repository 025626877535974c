/** Addresses that get no mails of a club's campaigns, automations and digests (CAMP-5). A row stores only the keyed hash of an address. */
import type { RecordOf } from '../../../contract/contract.ts';
import { MailSuppression } from '../../../entities/mail/mail-suppression.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { foldEmail } from '../../../platform/core/text/text.policy.ts';
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { ascending, descending } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { all, columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';

const suppressionColumns = columns(MailSuppression, [
  'addressKey',
  'reason',
  'leftCampaignsAt',
  'leftAutomationsAt',
  'leftDigestsAt',
  'createdAt',
]);
type Row = RowOf<typeof suppressionColumns>;

const present = ({ addressKey, reason, leftCampaignsAt, leftAutomationsAt, leftDigestsAt, createdAt }: Row) => ({
  id: addressKey.toString('hex'),
  ...(reason !== null && { reason }),
  left: [
    ...(leftCampaignsAt === null ? [] : (['campaigns'] as const)),
    ...(leftAutomationsAt === null ? [] : (['automations'] as const)),
    ...(leftDigestsAt === null ? [] : (['digests'] as const)),
  ],
  created_at: createdAt.toISOString(),
});

/** @returns a page of the club's suppressions, newest first */
export async function listSuppressions(
  { db, vault }: Pick<VaultDeps, 'vault'> & { db: Queries },
  clubId: Id,
  filter: PageRequest & { q?: string },
): Promise<Page<RecordOf<'MailSuppression'>>> {
  const where = all([
    sql`club_id = ${clubId}`,
    filter.q === undefined ? undefined : sql`address_key = ${addressKeyOf(vault, foldEmail(filter.q))}`,
  ]);
  const { rows, total, next } = await listPage<Row>(db, filter, {
    columns: suppressionColumns,
    from: sql`FROM mail_suppressions WHERE ${where}`,
    orderBy: [descending('created_at', 'timestamptz'), ascending('address_key', 'bytea')],
  });
  return { rows: rows.map(present), total, next };
}

/** About ten times the number of students in the largest plan. */
export const suppressionsPerClub = 500_000;

/**
 * Suppresses an address by hand. A repeated call changes nothing, and an existing reason stays.
 * @param most the limit of suppressions in a club
 * @throws DomainError suppression_limit_reached
 */
export async function addSuppression(
  { db, vault }: VaultDeps,
  clubId: Id,
  email: string,
  now: Date,
  most: number = suppressionsPerClub,
): Promise<RecordOf<'MailSuppression'>> {
  const key = addressKeyOf(vault, foldEmail(email));
  return db.transaction(async (tx) => {
    await suppressAll(tx, clubId, [key], now, most);
    const row = await tx.one<Row>(
      sql`SELECT ${suppressionColumns} FROM mail_suppressions WHERE club_id = ${clubId} AND address_key = ${key}`,
    );
    if (!row) throw new Error(`Suppression of club ${clubId} was not found right after it was written`);
    return present(row);
  });
}

/**
 * Suppresses many addresses by hand. Existing reasons stay.
 * @param keys keyed hashes of addresses, without duplicates
 * @param most the limit of suppressions in a club
 * @returns the number of addresses that were not suppressed before
 * @throws DomainError suppression_limit_reached
 */
export async function suppressAll(
  tx: Transaction,
  clubId: Id,
  keys: readonly Buffer[],
  now: Date,
  most: number = suppressionsPerClub,
): Promise<number> {
  // This lock makes transactions that suppress addresses by hand run one after another, so the count stays correct until the commit.
  await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
  // The rows are locked by key, so that two transactions with the same addresses cannot deadlock.
  const written = await tx.one<{ added: number; rows: number }>(sql`
    WITH added AS (
      INSERT INTO mail_suppressions AS suppression (club_id, address_key, reason, created_at)
      SELECT ${clubId}, key, 'manual', ${now} FROM unnest(${keys}::bytea[]) AS key ORDER BY key
      ON CONFLICT (club_id, address_key) DO UPDATE SET reason = excluded.reason WHERE suppression.reason IS NULL
      RETURNING xmax = 0 AS is_new)
    SELECT count(*)::int AS added, (count(*) FILTER (WHERE is_new))::int AS rows FROM added`);
  // A late delivery must not lift what a person has suppressed (BNC-8). The statement above has locked the rows.
  await tx.run(sql`UPDATE mail_suppressions SET from_soft_bounces = false
    WHERE club_id = ${clubId} AND address_key = ANY(${keys}::bytea[]) AND from_soft_bounces`);
  if (!written) throw new Error(`The count of suppressions of club ${clubId} returned no row`);
  // Only new rows can exceed the limit.
  if (written.rows > 0 && (await tx.manager.countBy(MailSuppression, { clubId })) > most)
    throw new DomainError(
      'suppression_limit_reached',
      `A club has at most ${most} suppressions. Delete suppressions that are no longer needed.`,
    );
  return written.added;
}

/**
 * Removes a suppression. The kinds of mail that the address has unsubscribed from stay unsubscribed.
 * @throws DomainError not_found
 */
export async function removeSuppression({ db }: Pick<VaultDeps, 'db'>, clubId: Id, id: string): Promise<void> {
  const key = Buffer.from(id, 'hex');
  await db.transaction(async (tx) => {
    const updatedRows = await tx.run(sql`UPDATE mail_suppressions SET reason = NULL, from_soft_bounces = false
      WHERE club_id = ${clubId} AND address_key = ${key} AND num_nonnulls(left_campaigns_at, left_automations_at, left_digests_at) > 0`);
    const deletedRows = await tx.run(sql`DELETE FROM mail_suppressions
      WHERE club_id = ${clubId} AND address_key = ${key} AND num_nonnulls(left_campaigns_at, left_automations_at, left_digests_at) = 0`);
    if (updatedRows + deletedRows === 0) throw notFound('suppression');
  });
}
