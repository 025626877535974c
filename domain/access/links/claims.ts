/** Lets students claim a registration link, when they are signed in or during a sign-up (OP-12, ACC-6). */
import { Club } from '../../../entities/clubs/club.ts';
import { RegistrationLink } from '../../../entities/access/registration-link.ts';
import { RegistrationLinkClaim } from '../../../entities/access/registration-link-claim.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { grantable } from '../deliveries/deliveries.ts';
import { grantAccess } from '../enrollments/enrollments.ts';
import { foldCode, noLink, requireClaimable, type LinkState } from './links.policy.ts';

type Claim = RecordOf<'RegistrationLinkClaim'>;

const linkColumns = columns(RegistrationLink, ['id', 'name', 'revokedAt', 'expiresAt', 'maxUses', 'uses'], 'link').and(
  columns(Club, { clubName: 'name' }, 'club'),
);
type ClaimedLink = RowOf<typeof linkColumns> & LinkState;

const openDeliveries = (now: Date) =>
  sql`registration_link_deliveries given JOIN access_deliveries delivery ON delivery.id = given.delivery_id
  AND ${grantable(now)}`;

/** Returns an SQL condition on a row of `students`. It is true if the student has claimed the link. */
export const claimedALink = sql`EXISTS (SELECT FROM registration_link_claims claim WHERE claim.student_id = students.id)`;

/** @throws DomainError not_found */
async function findLink(tx: Transaction, clubId: Id, code: string, now: Date, lock = sql``): Promise<ClaimedLink> {
  const link = await tx.one<ClaimedLink>(
    sql`SELECT ${linkColumns}, EXISTS (SELECT FROM ${openDeliveries(now)} WHERE given.link_id = link.id) AS gives
          FROM registration_links link JOIN clubs club ON club.id = link.club_id
         WHERE link.club_id = ${clubId} AND link.folded_code = ${foldCode(code) ?? ''} ${lock}`,
  );
  if (!link) throw noLink();
  return link;
}

/**
 * A sign-up checks the link before it searches for the e-mail address, so that the answer does not reveal whether the address is known.
 * @throws DomainError not_found, registration_link_used_up
 */
export async function requireClaimableLink(tx: Transaction, clubId: Id, code: string, now: Date): Promise<void> {
  requireClaimable(await findLink(tx, clubId, code, now), now);
}

/**
 * Grants the link's deliveries to the student, records `access.granted` for each new delivery, and counts one use of the link. The link's
 * row is locked, so only one student gets the last use. If the student claims the link again, the answer is the same, even after the link
 * has ended.
 * @throws DomainError not_found, registration_link_used_up
 */
export async function claimLink(tx: Transaction, clubId: Id, studentId: Id, code: string, now: Date): Promise<Claim> {
  await lockStudent(tx, clubId, studentId);
  const link = await findLink(tx, clubId, code, now, sql`FOR NO KEY UPDATE OF link`);
  const claimOf = (deliveries: string[]): Claim => ({ club_name: link.clubName, name: link.name, deliveries });
  const earlier = await namesOfClaim(tx, link.id, studentId);
  if (earlier) return claimOf(earlier);

  requireClaimable(link, now);
  const deliveries = await tx.rows<{ id: Id; name: string }>(
    sql`SELECT delivery.id, delivery.name FROM ${openDeliveries(now)}
         WHERE given.link_id = ${link.id} ORDER BY delivery.created_at, delivery.id FOR SHARE OF delivery`,
  );
  await tx.run(sql`UPDATE registration_links SET uses = uses + 1 WHERE id = ${link.id}`);
  await tx.manager.insert(RegistrationLinkClaim, {
    linkId: link.id,
    studentId,
    deliveryIds: deliveries.map(({ id }) => id),
    claimedAt: now,
  });
  for (const { id } of deliveries)
    await grantAccess(tx, { clubId, studentId, deliveryId: id, source: 'registration_link' }, now);
  return claimOf(deliveries.map(({ name }) => name));
}

/** Claims a link for a signed-in student. @throws DomainError not_found, registration_link_used_up */
export async function claimRegistrationLink(
  { db }: DatabaseDeps,
  clubId: Id,
  studentId: Id,
  code: string,
  now: Date,
): Promise<Claim> {
  return db.transaction((tx) => claimLink(tx, clubId, studentId, code, now));
}

/**
 * Deletes the claims of a student who never confirmed the sign-up, so that each link can be used one more time. The caller holds the lock
 * of the student.
 */
export async function giveClaimsBack(tx: Transaction, studentId: Id): Promise<void> {
  await tx.run(sql`
    WITH claimed AS (DELETE FROM registration_link_claims WHERE student_id = ${studentId} RETURNING link_id)
    UPDATE registration_links SET uses = uses - 1 WHERE id IN (SELECT link_id FROM claimed)`);
}

async function namesOfClaim(tx: Transaction, linkId: Id, studentId: Id): Promise<string[] | undefined> {
  const claim = await tx.one<{
    names: string[];
  }>(sql`SELECT ARRAY (SELECT delivery.name FROM access_deliveries delivery WHERE delivery.id = ANY (claim.delivery_ids)
                    ORDER BY delivery.created_at, delivery.id) AS names
       FROM registration_link_claims claim WHERE claim.link_id = ${linkId} AND claim.student_id = ${studentId}`);
  return claim?.names;
}
