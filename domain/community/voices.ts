/**
 * Checks the rights of people who write in the community. A voice is a student or an administrator. A student needs access and a
 * membership, and an administrator may write everywhere (COMM-3).
 */
import { CommunitySpace } from '../../entities/community/community-space.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import { lockStudent } from '../identity/accounts/accounts.ts';
import { isSeen, spacesOf } from './classroom.ts';
import { RefusalToPerson } from '../language/refusal.ts';

export interface Voice {
  kind: 'student' | 'admin';
  clubId: Id;
  id: Id;
}

/** The properties of a space that decide who may write. */
export interface OpenSpace {
  id: Id;
  posting: CommunitySpace['posting'];
  /** Always true for administrators. */
  joined: boolean;
}

/**
 * @param what the name of the resource in the error
 * @throws DomainError not_found if the voice does not see the space; not_entitled if a student has no access
 */
export async function requireReader(
  db: Queries,
  voice: Voice,
  spaceId: Id,
  now: Date,
  what = 'space',
): Promise<OpenSpace> {
  const spaceColumns = columns(CommunitySpace, ['id', 'posting'], 'space');
  if (voice.kind === 'admin') {
    const space = await db.one<OpenSpace>(
      sql`SELECT ${spaceColumns}, true AS joined FROM community_spaces space WHERE space.id = ${spaceId} AND space.club_id = ${voice.clubId}`,
    );
    if (!space) throw notFound(what);
    return space;
  }
  const space = await db.one<OpenSpace & { hasAccess: boolean }>(sql`
    SELECT ${spaceColumns}, own.joined, own.has_access AS "hasAccess" ${spacesOf(voice, now)} AND space.id = ${spaceId} AND ${isSeen}`);
  if (!space) throw notFound(what);
  if (!space.hasAccess) throw new RefusalToPerson('not_entitled', 'refusal.no_access_to_space');
  return space;
}

/**
 * Like {@link requireReader}, but for writing.
 * @throws DomainError not_found, not_entitled (the student has no access, or is not a member)
 */
export async function requireWriter(
  db: Queries,
  voice: Voice,
  spaceId: Id,
  now: Date,
  what = 'space',
): Promise<OpenSpace> {
  const space = await requireReader(db, voice, spaceId, now, what);
  if (!space.joined) throw new RefusalToPerson('not_entitled', 'refusal.join_space_first');
  return space;
}

/**
 * Locks a student who writes. So the student's access or membership cannot change during this transaction, and the student cannot be
 * removed.
 * @throws DomainError not_found
 */
export async function lockVoice(tx: Transaction, { kind, clubId, id }: Voice): Promise<void> {
  if (kind === 'student') await lockStudent(tx, clubId, id);
}

/**
 * Returns an SQL condition that is true if the voice wrote the post or the comment.
 * @param row the alias of the post or comment in the statement
 */
export function isOwn({ kind, id }: Voice, row: Sql): Sql {
  return kind === 'student' ? sql`${row}.student_id = ${id}` : sql`${row}.administrator_id = ${id}`;
}

/**
 * Returns an SQL condition that is true if the voice sees the post or the comment. An administrator and the author also see hidden posts
 * and comments.
 */
export function isVisible(voice: Voice, row: Sql): Sql {
  if (voice.kind === 'admin') return sql`${row}.state <> 'deleted'`;
  return sql`${row}.state <> 'deleted' AND (${row}.hidden_at IS NULL OR ${isOwn(voice, row)})`;
}
