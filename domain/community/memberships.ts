/** Lets students join and leave spaces, and choose which messages of a space they receive (COMM-2, COMM-6). */
import { CommunityMembership } from '../../entities/community/community-membership.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { instantOf } from '../../platform/core/time/instants.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { given, sql } from '../../platform/infra/postgres/sql.ts';
import { hasAccessToSpace } from '../access/enrollments/entitlement.ts';
import { lockStudent } from '../identity/accounts/accounts.ts';
import type { Reader } from '../identity/student-ref.ts';
import { hasLeftDigests } from '../joining/digests.ts';
import { followAccess } from '../joining/joining.ts';
import { resubscribeToDigests } from '../mail/suppressions/preferences.ts';
import type { MediaDeps } from '../media/media.ts';
import { readSpaceOfMember, readVisibleSpace } from './classroom.ts';
import { RefusalToPerson } from '../language/refusal.ts';

type SpaceRecord = RecordOf<'CommunitySpace'>;

interface Standing {
  /** The space is not archived, and not hidden from students without access. */
  isVisible: boolean;
  hasAccess: boolean;
  banned: boolean;
  /** Whether the student is a member or was a member before. */
  known: boolean;
}

/**
 * @returns what the student may do in the space. The caller holds the lock of the student
 * @throws DomainError not_found (no space of the club)
 */
async function standingOf(db: Queries, { clubId, id }: Reader, spaceId: Id, now: Date): Promise<Standing> {
  const row = await db.one<Standing>(sql`
    SELECT access.has_access AS "hasAccess", space.archived_at IS NULL AND (access.has_access OR NOT space.hidden) AS "isVisible",
           membership.banned_at IS NOT NULL AS banned, membership.space_id IS NOT NULL AS known
      FROM community_spaces space
      LEFT JOIN community_memberships membership ON membership.space_id = space.id AND membership.student_id = ${id}
      CROSS JOIN LATERAL (SELECT NOT space.private OR ${hasAccessToSpace(sql`space.id`, id, now)} AS has_access) AS access
     WHERE space.id = ${spaceId} AND space.club_id = ${clubId}`);
  if (!row) throw notFound('space');
  return row;
}

/**
 * Makes the student a member. If the student is already a member, nothing changes. Posts from before the student joined count as read.
 * @throws DomainError not_found (the student does not see the space), not_entitled (the student has no access, or is banned)
 */
export async function joinSpace(
  { db, storage }: MediaDeps,
  reader: Reader,
  spaceId: Id,
  now: Date,
): Promise<SpaceRecord> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, reader.clubId, reader.id);
    const { isVisible, hasAccess, banned } = await standingOf(tx, reader, spaceId, now);
    if (!isVisible) throw notFound('space');
    if (!hasAccess) throw new RefusalToPerson('not_entitled', 'refusal.no_access_to_space');
    if (banned) throw new RefusalToPerson('not_entitled', 'refusal.not_admitted_to_space');
    await tx.run(sql`
      INSERT INTO community_memberships AS standing (space_id, student_id, club_id, joined_at, read_at, digest, counted)
      SELECT id, ${reader.id}, club_id, ${now}, ${now}, digest_by_default AND NOT ${hasLeftDigests(reader.id)}, false
        FROM community_spaces WHERE id = ${spaceId}
      ON CONFLICT (space_id, student_id) DO UPDATE
         SET left_at = NULL, joined_at = excluded.joined_at, read_at = excluded.read_at, muted = false, digest = excluded.digest, digest_left = false
       WHERE standing.left_at IS NOT NULL`);
    await followAccess(tx, { clubId: reader.clubId, studentIds: [reader.id], spaceId }, now);
    return readVisibleSpace(tx, storage, reader, spaceId, now);
  });
}

/**
 * Ends the membership. A student can also leave after the access has ended. The student's posts and comments stay. A second call changes
 * nothing.
 * @returns the space as the student sees it after leaving
 * @throws DomainError not_found if the student does not see the space and was never a member
 */
export async function leaveSpace(
  { db, storage }: MediaDeps,
  reader: Reader,
  spaceId: Id,
  now: Date,
): Promise<SpaceRecord> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, reader.clubId, reader.id);
    const { isVisible, known, banned } = await standingOf(tx, reader, spaceId, now);
    if (!isVisible && (!known || banned)) throw notFound('space');
    await endMembership(tx, { spaceId, studentId: reader.id }, now);
    return readSpaceOfMember(tx, storage, reader, spaceId, now);
  });
}

/** Ends a membership. Only the student can restore it, by joining again. The caller holds the lock of the student. */
export async function endMembership(
  tx: Transaction,
  { spaceId, studentId }: { spaceId: Id; studentId: Id },
  now: Date,
): Promise<void> {
  await tx.run(sql`
    UPDATE community_memberships SET left_at = ${now}, muted = false, digest = false, digest_left = false, counted = false, looks_at = NULL
     WHERE space_id = ${spaceId} AND student_id = ${studentId} AND left_at IS NULL AND banned_at IS NULL`);
}

/**
 * Changes the fields of the membership that `input` contains.
 * @throws DomainError not_found (no such space, or no membership in the space)
 */
export async function updateMembership(
  { db, storage }: MediaDeps,
  reader: Reader,
  spaceId: Id,
  input: RecordOf<'SpaceMembershipChange'>,
  now: Date,
): Promise<SpaceRecord> {
  return db.transaction(async (tx) => {
    await requireMembership(tx, reader, spaceId, now);
    if (input.digest === true) await resubscribeToDigests(tx, reader);
    const digestLeft = input.digest === undefined ? undefined : false;
    const change = given({ muted: input.muted, digest: input.digest, digestLeft });
    await tx.manager.update(CommunityMembership, { spaceId, studentId: reader.id }, change);
    return readVisibleSpace(tx, storage, reader, spaceId, now);
  });
}

/**
 * Records the time up to which the student has read the space. The mark never moves back, and never beyond the current time.
 * @throws DomainError not_found (no such space, or no membership in the space), invalid_request
 */
export async function markSpaceRead(
  { db, storage }: MediaDeps,
  reader: Reader,
  spaceId: Id,
  readUntil: string,
  now: Date,
): Promise<SpaceRecord> {
  const until = instantOf(readUntil, 'read_until');
  return db.transaction(async (tx) => {
    await requireMembership(tx, reader, spaceId, now);
    await tx.run(sql`
      UPDATE community_memberships SET read_at = greatest(read_at, least(${until}::timestamptz, ${now}::timestamptz))
       WHERE space_id = ${spaceId} AND student_id = ${reader.id}`);
    return readVisibleSpace(tx, storage, reader, spaceId, now);
  });
}

/** Locks the student. @throws DomainError not_found */
async function requireMembership(tx: Transaction, reader: Reader, spaceId: Id, now: Date): Promise<void> {
  await lockStudent(tx, reader.clubId, reader.id);
  if (!(await standingOf(tx, reader, spaceId, now)).isVisible) throw notFound('space');
  const member = await tx.one(sql`
    SELECT 1 FROM community_memberships
     WHERE space_id = ${spaceId} AND student_id = ${reader.id} AND left_at IS NULL AND banned_at IS NULL`);
  if (!member) throw notFound('membership');
}
