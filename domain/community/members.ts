/** Lets administrators list, remove and ban the members of a space (COMM-7). */
import { CommunityMembership } from '../../entities/community/community-membership.ts';
import { Student } from '../../entities/identity/student.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { descending } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import { hasAccessToSpace } from '../access/enrollments/entitlement.ts';
import type { DatabaseDeps } from '../deps.ts';
import { lockStudent } from '../identity/accounts/accounts.ts';
import { endMembership } from './memberships.ts';
import { requireSpace } from './spaces.ts';

const memberColumns = columns(CommunityMembership, ['joinedAt', 'bannedAt', 'muted', 'digest'], 'membership')
  .and(columns(Student, ['id', 'name'], 'student'))
  .and<{ email: string }>(sql`student.email`);

/**
 * @returns a page of the members, with the newest member first; or a page of the banned students, with the latest ban first
 * @throws DomainError not_found
 */
export async function listMembers(
  db: Queries,
  { clubId, spaceId }: { clubId: Id; spaceId: Id },
  { status = 'joined', ...page }: PageRequest & { status?: 'joined' | 'banned' },
  now: Date,
): Promise<Page<RecordOf<'SpaceMember'>>> {
  await requireSpace(db, clubId, spaceId);
  const isBanned = status === 'banned';
  const which = isBanned
    ? sql`membership.banned_at IS NOT NULL`
    : sql`membership.left_at IS NULL AND membership.banned_at IS NULL`;
  // The memberships of a removed student are deleted, so every student here has an e-mail address.
  const access = sql`(NOT space.private OR ${hasAccessToSpace(sql`space.id`, sql`student.id`, now)}) AS "hasAccess"`;
  const columnsWithAccess = memberColumns.and<{ hasAccess: boolean }>(access);
  const { rows, total, next } = await listPage(db, page, {
    columns: columnsWithAccess,
    from: sql`FROM community_memberships membership JOIN students student ON student.id = membership.student_id
      JOIN community_spaces space ON space.id = membership.space_id WHERE membership.space_id = ${spaceId} AND ${which}`,
    counted: sql`FROM community_memberships membership WHERE membership.space_id = ${spaceId} AND ${which}`,
    orderBy: [
      descending(isBanned ? 'membership.banned_at' : 'membership.joined_at', 'timestamptz'),
      descending('membership.student_id', 'uuid'),
    ],
    ...(!isBanned && { total: () => countListed(db, { list: 'space_members', clubId, subjectId: spaceId }) }),
  });
  return { rows: rows.map(presentMember), total, next };
}

function presentMember(row: RowOf<typeof memberColumns> & { hasAccess: boolean }): RecordOf<'SpaceMember'> {
  return {
    student: { id: row.id, name: row.name, email: row.email },
    status: row.bannedAt === null ? 'joined' : 'banned',
    has_access: row.hasAccess,
    joined_at: row.joinedAt.toISOString(),
    ...(row.bannedAt !== null && { banned_at: row.bannedAt.toISOString() }),
    muted: row.muted,
    digest: row.digest,
  };
}

interface MemberRef {
  clubId: Id;
  spaceId: Id;
  studentId: Id;
}

/**
 * Ends the membership, as if the student had left. The student may join again. A second call changes nothing.
 * @throws DomainError not_found (also if the student was never a member)
 */
export async function removeMember({ db }: DatabaseDeps, member: MemberRef, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await requireSpace(tx, member.clubId, member.spaceId);
    await lockStudent(tx, member.clubId, member.studentId);
    const { spaceId, studentId } = member;
    if (!(await tx.manager.exists(CommunityMembership, { where: { spaceId, studentId } }))) throw notFound('member');
    await endMembership(tx, member, now);
  });
}

/**
 * Ends the membership of a student, who cannot become a member again until the ban is lifted. A second call changes nothing.
 * @throws DomainError not_found
 */
export async function banMember(
  { db }: DatabaseDeps,
  { clubId, spaceId, studentId }: MemberRef,
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    await requireSpace(tx, clubId, spaceId);
    await lockStudent(tx, clubId, studentId);
    await tx.run(sql`
      INSERT INTO community_memberships AS standing (space_id, student_id, club_id, joined_at, read_at, banned_at, digest, counted)
      VALUES (${spaceId}, ${studentId}, ${clubId}, ${now}, ${now}, ${now}, false, false)
      ON CONFLICT (space_id, student_id) DO UPDATE
         SET banned_at = excluded.banned_at, muted = false, digest = false, digest_left = false, counted = false, looks_at = NULL
       WHERE standing.banned_at IS NULL`);
  });
}

/**
 * Ends the ban, so that the student may join again. A second call changes nothing.
 * @throws DomainError not_found
 */
export async function unbanMember(
  { db }: DatabaseDeps,
  { clubId, spaceId, studentId }: MemberRef,
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    await requireSpace(tx, clubId, spaceId);
    await lockStudent(tx, clubId, studentId);
    await tx.run(sql`
      UPDATE community_memberships SET banned_at = NULL, left_at = coalesce(left_at, ${now})
       WHERE space_id = ${spaceId} AND student_id = ${studentId} AND banned_at IS NOT NULL`);
  });
}
