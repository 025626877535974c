/** Builds spaces of the community and memberships of students. The builders insert only rows, and cause no mails and no wakes. */
import { setSender } from '../../../domain/mail/sending/sender.ts';
import type { SpacePosting } from '../../../entities/community/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase, testDeps } from '../stack/database.ts';
import { buildAccessDelivery } from './access.ts';
import { buildClub, type TestClub } from './clubs.ts';

/** A club with a sender and the time zone UTC. */
export async function buildWritingClub(now: Date): Promise<TestClub> {
  const club = await buildClub();
  const sender = { from_name: 'Knots & Co', postal_address: 'Quay 1\nHarbour', reply_to: 'crew@example.com' };
  await setSender(await testDeps(), club.id, { ...sender, mails_per_minute: 6_000 }, now);
  return club;
}

export interface SpaceOptions {
  name?: string;
  posting?: SpacePosting;
  private?: boolean;
  hidden?: boolean;
  autoJoin?: boolean;
  digestByDefault?: boolean;
  archived?: boolean;
}

/** A space of a club. Its position is after the existing spaces, and by default it is for all students. */
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

export async function buildSpaceDelivery({ id, clubId }: { id: Id; clubId: Id }): Promise<Id> {
  return (await buildAccessDelivery(clubId, { spaceId: id })).id;
}

export async function buildSpaceMembership(
  space: { id: Id; clubId: Id },
  studentId: Id,
  {
    status = 'joined',
    at = new Date(),
    digest = false,
    muted = false,
    readAt = at,
  }: { status?: 'joined' | 'left' | 'banned'; at?: Date; digest?: boolean; muted?: boolean; readAt?: Date } = {},
): Promise<void> {
  await (
    await testDatabase()
  ).query(
    `INSERT INTO community_memberships (space_id, student_id, club_id, joined_at, read_at, left_at, banned_at, digest, muted, counted)
     VALUES ($1, $2, $3, $4, $8, $5, $6, $9, $10, $7)`,
    [
      space.id,
      studentId,
      space.clubId,
      at,
      status === 'left' ? at : null,
      status === 'banned' ? at : null,
      status === 'joined',
      readAt,
      digest,
      muted,
    ],
  );
}

export interface PostOptions {
  /** The default author is an administrator with a deleted account. */
  studentId?: Id | undefined;
  administratorId?: Id;
  at?: Date;
  title?: string;
  body?: string;
  state?: 'published' | 'deleted';
  hidden?: boolean;
}

export async function buildPost(
  { id: spaceId, clubId }: { id: Id; clubId: Id },
  { studentId, administratorId, at = new Date(), title, body = 'Ahoy', state = 'published', hidden }: PostOptions = {},
): Promise<{ id: Id; publicId: string }> {
  const id = newId();
  const publicId = id.slice(-12);
  const isPublished = state === 'published';
  await (
    await testDatabase()
  ).query(
    `INSERT INTO community_posts (id, club_id, space_id, public_id, student_id, administrator_id, title, body, state, hidden_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      id,
      clubId,
      spaceId,
      publicId,
      studentId ?? null,
      administratorId ?? null,
      isPublished ? (title ?? null) : null,
      isPublished ? body : null,
      state,
      hidden ? at : null,
      at,
    ],
  );
  return { id, publicId };
}

/** A student's file for a post. The file is ready, and no post uses it. The bucket does not contain the file. @returns its id */
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
