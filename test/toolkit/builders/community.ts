/** Spaces of the community, and how students stand to them: rows alone, of which nobody is told. */
import type { SpacePosting } from '../../../entities/community/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';
import { buildAccessDelivery } from './access.ts';

export interface SpaceOptions {
  name?: string;
  posting?: SpacePosting;
  private?: boolean;
  hidden?: boolean;
  autoJoin?: boolean;
  digestByDefault?: boolean;
  archived?: boolean;
}

/** A space of a club, the last so far: for everybody unless told. */
export async function buildSpace(
  clubId: Id,
  {
    name = 'The Quay',
    posting = 'members',
    private: isPrivate = false,
    hidden = false,
    autoJoin = false,
    digestByDefault = false,
    archived = false,
  }: SpaceOptions = {},
): Promise<{ id: Id; clubId: Id }> {
  const id = newId();
  const now = new Date();
  await (
    await testDatabase()
  ).query(
    `INSERT INTO community_spaces (id, club_id, public_id, name, posting, private, hidden, auto_join, digest_by_default, position, archived_at, created_at, updated_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, count(*), $10, $11, $11 FROM community_spaces WHERE club_id = $2`,
    [
      id,
      clubId,
      id.slice(-12),
      name,
      posting,
      isPrivate,
      hidden,
      autoJoin,
      digestByDefault,
      archived ? now : null,
      now,
    ],
  );
  return { id, clubId };
}

/** A delivery that opens a space. @returns its id */
export async function buildSpaceDelivery({ id, clubId }: { id: Id; clubId: Id }): Promise<Id> {
  return (await buildAccessDelivery(clubId, { spaceId: id })).id;
}

/** How a student stands to a space. */
export async function buildSpaceMembership(
  space: { id: Id; clubId: Id },
  studentId: Id,
  { status = 'joined', at = new Date() }: { status?: 'joined' | 'left' | 'banned'; at?: Date } = {},
): Promise<void> {
  await (
    await testDatabase()
  ).query(
    `INSERT INTO community_memberships (space_id, student_id, club_id, joined_at, read_at, left_at, banned_at, digest, counted)
     VALUES ($1, $2, $3, $4, $4, $5, $6, false, $7)`,
    [
      space.id,
      studentId,
      space.clubId,
      at,
      status === 'left' ? at : null,
      status === 'banned' ? at : null,
      status === 'joined',
    ],
  );
}

/** A file of a student for a post that is ready and in none; the bucket has nothing of it. @returns its id */
export async function buildPostFile(clubId: Id, studentId: Id): Promise<Id> {
  const id = newId();
  await (
    await testDatabase()
  ).query(
    `INSERT INTO media (id, club_id, purpose, owner_id, kind, title, provider, status, file_name, mime, size_bytes, object_key, erases_at, created_at, updated_at)
     VALUES ($1, $2, 'post', $3, 'image', 'My knot.png', 'objstore', 'ready', 'My knot.png', 'image/png', 100, $4, $5, $6, $6)`,
    [id, clubId, studentId, `media/${clubId}/${id}`, new Date(Date.now() + 7 * 86_400_000), new Date()],
  );
  return id;
}
