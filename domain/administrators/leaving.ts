/** Ends memberships: a member leaves a club, or is removed from it. Mentorships of a removed member stay, and otherwise both have the same effects (ERS-40 to ERS-43). */
import { Membership } from '../../entities/clubs/membership.ts';
import type { Role } from '../../entities/clubs/values.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import {
  endInvitationsBy,
  lockClub,
  lockMembers,
  mayTouchOwners,
  requireOtherOwner,
  roleOf,
} from '../clubs/membership-rules.ts';
import { rolesNoLongerGiven } from '../clubs/roles.policy.ts';
import { contextsInLockOrder } from '../contexts.ts';
import type { DatabaseDeps } from '../deps.ts';
import type { LeavingMember } from '../questions.ts';

/**
 * Ends the own membership, whatever the role.
 * @throws DomainError forbidden, if the membership has ended meanwhile; last_owner
 */
export async function leaveClub({ db }: DatabaseDeps, clubId: Id, administratorId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await lockMembers(tx, clubId);
    const role = await roleOf(tx, clubId, administratorId);
    if (role === undefined) throw new DomainError('forbidden', 'This session does not act in this organization.');
    if (role === 'owner') await requireOtherOwner(tx, clubId, administratorId);
    await endMembership(tx, { clubId, administratorId, role, isRemoved: false }, now);
  });
}

/**
 * Ends the membership of another member, or the own one.
 * @param by the acting administrator
 * @throws DomainError not_found, role_not_permitted, last_owner
 */
export async function removeMember(
  { db }: DatabaseDeps,
  { clubId, administratorId, by }: Omit<LeavingMember, 'isRemoved'> & { by: Id },
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    const actor = await lockClub(tx, clubId, by);
    const role = await roleOf(tx, clubId, administratorId);
    if (role === undefined) throw notFound('member');
    mayTouchOwners(actor, role);
    if (role === 'owner') await requireOtherOwner(tx, clubId, administratorId);
    await endMembership(tx, { clubId, administratorId, role, isRemoved: administratorId !== by }, now);
  });
}

/**
 * Ends what the member has in the club, the membership, and the invitations that only this role may give. API keys of the club stay, because
 * they belong to the club (KEY-1). The caller has locked the club. The membership is deleted last: a booking locks the mentorship first and
 * the membership of its mentor then.
 */
export async function endMembership(
  tx: Transaction,
  { role, ...member }: LeavingMember & { role: Role },
  now: Date,
): Promise<void> {
  for (const context of contextsInLockOrder) await context.endMembership?.(tx, member, now);
  const { clubId, administratorId } = member;
  await tx.manager.delete(Membership, { clubId, administratorId });
  await endInvitationsBy(tx, clubId, administratorId, rolesNoLongerGiven(role, undefined));
}
