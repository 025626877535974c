/** The rules for changes of a club's members: the lock, the roles that may act, and the last owner. */
import type { Role } from '../../entities/clubs/values.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { rolesGivenBy } from './roles.policy.ts';

/**
 * Locks a club's members, so that changes run one after another. Then it checks the current role of the person who acts. If this person was
 * removed or lost the role while the request waited, the request is refused.
 * @param by the acting administrator
 * @returns the current role
 */
export async function lockClub(tx: Transaction, clubId: Id, by: Id): Promise<Role> {
  await lockMembers(tx, clubId);
  const role = await roleOf(tx, clubId, by);
  if (role === undefined) throw new DomainError('forbidden', 'This session does not act in this organization.');
  if (role !== 'owner' && role !== 'admin')
    throw new DomainError('role_not_permitted', 'Only an owner or an admin may do this.');
  return role;
}

/** Locks the club. The lock of its members comes before every other lock of these transactions. */
export async function lockMembers(tx: Transaction, clubId: Id): Promise<void> {
  await tx.run(sql`SELECT 1 FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
}

/** @returns the role of a member; undefined if the person is not a member */
export async function roleOf(tx: Transaction, clubId: Id, administratorId: Id): Promise<Role | undefined> {
  const member = await tx.one<{ role: Role }>(
    sql`SELECT role FROM memberships WHERE club_id = ${clubId} AND administrator_id = ${administratorId}`,
  );
  return member?.role;
}

/** @throws DomainError role_not_permitted, if the person may not give or end one of the roles */
export function mayTouchOwners(by: Role, ...touched: Role[]): void {
  if (touched.some((role) => !rolesGivenBy(by).includes(role))) {
    throw new DomainError('role_not_permitted', 'Only an owner may grant or end ownership.');
  }
}

/** The club, or the clubs, would be left without an owner (ERS-43). The answer names them. */
export class LastOwner extends DomainError {
  override readonly members: { readonly club_ids: readonly Id[] };

  constructor(clubIds: readonly Id[]) {
    super('last_owner', 'A club must keep at least one owner. Make another member an owner first, or erase the club.');
    this.members = { club_ids: clubIds };
  }
}

/**
 * The caller has locked the club, so two owners cannot both leave the other one as the last owner.
 * @throws DomainError last_owner
 */
export async function requireOtherOwner(tx: Transaction, clubId: Id, leaving: Id): Promise<void> {
  if ((await clubsWithoutOtherOwner(tx, [clubId], leaving)).length > 0) throw new LastOwner([clubId]);
}

/**
 * A club that is being erased needs no owner any more.
 * @param clubIds clubs that the caller has locked
 * @returns the clubs in which no other member is an owner, in the order of their ids
 */
export async function clubsWithoutOtherOwner(tx: Transaction, clubIds: readonly Id[], leaving: Id): Promise<Id[]> {
  const rows = await tx.rows<{ id: Id }>(sql`
    SELECT club.id FROM clubs club
     WHERE club.id = ANY (${clubIds}::uuid[]) AND club.erasing_at IS NULL
       AND NOT EXISTS (SELECT FROM memberships other
                        WHERE other.club_id = club.id AND other.role = 'owner' AND other.administrator_id <> ${leaving})
     ORDER BY club.id`);
  return rows.map(({ id }) => id);
}

/**
 * Ends the open invitations to these roles by a person who may no longer give them, with their tokens and mails. Invitations without a
 * recorded inviter end too, because this person may have sent them.
 */
export async function endInvitationsBy(
  tx: Transaction,
  clubId: Id,
  inviter: Id,
  roles: readonly Role[],
): Promise<void> {
  if (roles.length === 0) return;
  await tx.run(sql`DELETE FROM invitations
    WHERE club_id = ${clubId} AND role = ANY(${roles}) AND (invited_by = ${inviter} OR invited_by IS NULL)`);
}
