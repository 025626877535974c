/** Reads spaces for a student. The same statement also returns what the student may do in each space (COMM-1 to COMM-3). */
import { CommunitySpace } from '../../entities/community/community-space.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { ascending } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { columns, sql, type RowOf, type Sql } from '../../platform/infra/postgres/sql.ts';
import { hasAccessToSpace } from '../access/enrollments/entitlement.ts';
import type { Reader } from '../identity/student-ref.ts';
import { presentUsed } from '../media/uses/presentation.ts';
import { memberCounts } from './counts.ts';

type CommunitySpaceRecord = RecordOf<'CommunitySpace'>;

/**
 * The columns of a space, for a statement with `spacesOf`. The ORDER BY in the subquery of `unread` lets Postgres read the index from the
 * student's read mark on. Without it, Postgres overestimates the posts of a small space, and would scan the posts of all spaces.
 */
const spaceColumns = columns(CommunitySpace, ['id', 'name', 'posting', 'private', 'description'], 'space').and<{
  hasAccess: boolean;
  joined: boolean;
  muted: boolean;
  digest: boolean;
  unread: boolean;
  memberCount: number;
}>(sql`own.has_access AS "hasAccess", own.joined, coalesce(membership.muted, false) AS muted,
  coalesce(membership.digest, false) AS digest,
  own.joined AND NOT coalesce(membership.muted, true) AND coalesce((
    SELECT true FROM community_posts post
     WHERE post.space_id = space.id AND post.created_at > membership.read_at AND post.state = 'published' AND post.hidden_at IS NULL
       AND post.student_id IS DISTINCT FROM membership.student_id
     ORDER BY post.created_at LIMIT 1), false) AS unread, coalesce(counted.members, 0) AS "memberCount"`);
type SpaceRow = RowOf<typeof spaceColumns>;

/**
 * Returns SQL for the spaces of the reader's club, each with the reader's membership. The result has no membership if the student has left
 * the space or is banned.
 */
export function spacesOf({ clubId, id }: Reader, now: Date): Sql {
  return sql`FROM community_spaces space
    LEFT JOIN community_memberships membership ON membership.space_id = space.id AND membership.student_id = ${id}
      AND membership.left_at IS NULL AND membership.banned_at IS NULL
    CROSS JOIN LATERAL (SELECT NOT space.private OR ${hasAccessToSpace(sql`space.id`, id, now)} AS has_access) AS access
    CROSS JOIN LATERAL (SELECT access.has_access, access.has_access AND membership.space_id IS NOT NULL AS joined) AS own
    LEFT JOIN ${memberCounts(clubId)} AS counted ON counted.subject_id = space.id
   WHERE space.club_id = ${clubId}`;
}

/** True if the student sees the space. The statement must contain `spacesOf`. */
export const isSeen = sql`space.archived_at IS NULL AND (own.has_access OR NOT space.hidden)`;

/** @returns a page of the spaces that the student sees, in the order that administrators have set */
export async function listVisibleSpaces(
  db: Queries,
  storage: ObjectStore,
  reader: Reader,
  page: PageRequest,
  now: Date,
): Promise<Page<CommunitySpaceRecord>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: spaceColumns,
    from: sql`${spacesOf(reader, now)} AND ${isSeen}`,
    orderBy: [ascending('space.position', 'int'), ascending('space.id', 'uuid')],
  });
  return { rows: await presentSpaces(db, storage, rows), total, next };
}

/** @throws DomainError not_found if the student does not see the space: it is unknown, archived, or hidden without access */
export async function readVisibleSpace(
  db: Queries,
  storage: ObjectStore,
  reader: Reader,
  spaceId: Id,
  now: Date,
): Promise<CommunitySpaceRecord> {
  return read(db, storage, reader, sql`space.id = ${spaceId} AND ${isSeen}`, now);
}

/** Reads a space for a current or former member, even if the student no longer sees the space. @throws DomainError not_found */
export async function readSpaceOfMember(
  db: Queries,
  storage: ObjectStore,
  reader: Reader,
  spaceId: Id,
  now: Date,
): Promise<CommunitySpaceRecord> {
  return read(db, storage, reader, sql`space.id = ${spaceId}`, now);
}

async function read(
  db: Queries,
  storage: ObjectStore,
  reader: Reader,
  which: Sql,
  now: Date,
): Promise<CommunitySpaceRecord> {
  const row = await db.one<SpaceRow>(sql`SELECT ${spaceColumns} ${spacesOf(reader, now)} AND ${which}`);
  const [space] = row ? await presentSpaces(db, storage, [row]) : [];
  if (!space) throw notFound('space');
  return space;
}

async function presentSpaces(
  db: Queries,
  storage: ObjectStore,
  rows: readonly SpaceRow[],
): Promise<CommunitySpaceRecord[]> {
  const covers = await presentUsed(
    db,
    storage,
    'space',
    rows.map(({ id }) => id),
  );
  return rows.map((row) => {
    const coverUrl = covers.get(row.id)?.[0]?.preview_url;
    return {
      id: row.id,
      name: row.name,
      posting: row.posting,
      private: row.private,
      has_access: row.hasAccess,
      can_post: row.joined && row.posting === 'members',
      joined: row.joined,
      member_count: row.memberCount,
      unread: row.unread,
      muted: row.muted,
      digest: row.digest,
      ...(row.description !== null && { description: row.description }),
      ...(coverUrl !== undefined && { cover_url: coverUrl }),
    };
  });
}
