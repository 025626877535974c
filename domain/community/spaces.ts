/** Lets administrators create, list, change, order and archive the spaces of a club (COMM-4, COMM-5). */
import { CommunitySpace } from '../../entities/community/community-space.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { hasVisible, tidyName } from '../../platform/core/text/text.policy.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { ascending } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { insertWithPublicId, refusalOf } from '../../platform/infra/postgres/public-ids.ts';
import { all, columns, given, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import { requireFeature } from '../billing/allowances.ts';
import type { DatabaseDeps } from '../deps.ts';
import { setCover } from '../media/uses/covers.ts';
import type { MediaDeps } from '../media/media.ts';
import { presentUsed } from '../media/uses/presentation.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import { memberCounts } from './counts.ts';

type SpaceRecord = RecordOf<'Space'>;

/**
 * The maximum number of spaces of a club, including archived spaces. It is low enough that one list and one request for the order can
 * contain all spaces.
 */
export const maxSpaces = 200;

const spaceColumns = columns(
  CommunitySpace,
  [
    'id',
    'publicId',
    'name',
    'description',
    'posting',
    'private',
    'hidden',
    'autoJoin',
    'digestByDefault',
    'archivedAt',
    'createdAt',
    'updatedAt',
  ],
  'space',
).and<{ memberCount: number }>(sql`coalesce(counted.members, 0) AS "memberCount"`);
type SpaceRow = RowOf<typeof spaceColumns>;

const spacesWithCounts = (clubId: Id) =>
  sql`FROM community_spaces space LEFT JOIN ${memberCounts(clubId)} AS counted ON counted.subject_id = space.id`;

/** @returns a page of the club's spaces in their order. Archived spaces come last */
export async function listSpaces(
  db: Queries,
  storage: ObjectStore,
  clubId: Id,
  filter: PageRequest & { archived?: boolean },
): Promise<Page<SpaceRecord>> {
  const archived = filter.archived ? sql`space.archived_at IS NOT NULL` : sql`space.archived_at IS NULL`;
  const filters = all([sql`space.club_id = ${clubId}`, filter.archived === undefined ? undefined : archived]);
  const { rows, total, next } = await listPage(db, filter, {
    columns: spaceColumns,
    from: sql`${spacesWithCounts(clubId)} WHERE ${filters}`,
    counted: sql`FROM community_spaces space WHERE ${filters}`,
    changedAt: 'space.changed_at',
    orderBy: [
      ascending('space.archived_at IS NOT NULL', 'boolean'),
      ascending('space.position', 'int'),
      ascending('space.id', 'uuid'),
    ],
  });
  return { rows: await presentSpaces(db, storage, rows), total, next };
}

/** @throws DomainError not_found (also for a space of another club) */
export async function readSpace(db: Queries, storage: ObjectStore, clubId: Id, spaceId: Id): Promise<SpaceRecord> {
  const row = await db.one<SpaceRow>(
    sql`SELECT ${spaceColumns} ${spacesWithCounts(clubId)} WHERE space.id = ${spaceId} AND space.club_id = ${clubId}`,
  );
  const [space] = row ? await presentSpaces(db, storage, [row]) : [];
  if (!space) throw notFound('space');
  return space;
}

/**
 * Creates a space at the end of the order.
 * @throws DomainError feature_not_in_plan, space_limit_reached, public_id_taken, not_found (no such cover), media_archived, invalid_request
 */
export async function createSpace(
  { db, storage }: MediaDeps,
  clubId: Id,
  input: RecordOf<'SpaceCreation'>,
  now: Date,
): Promise<SpaceRecord> {
  const id = newId();
  await db.transaction(async (tx) => {
    await requireFeature(tx, clubId, 'community');
    if (input.cover_media_id !== undefined) await setCover(tx, clubId, { kind: 'space', id }, input.cover_media_id);
    await requireRoomForSpace(tx, clubId);
    await insertWithPublicId('space', { ...input, title: input.name }, async (publicId) => {
      const rows = await tx.rows(sql`
        INSERT INTO community_spaces (id, club_id, public_id, name, description, posting, private, hidden, auto_join, digest_by_default, position, created_at, updated_at)
        VALUES (${id}, ${clubId}, ${publicId}, ${nameOf(input.name)}, ${input.description ?? null}, ${input.posting ?? 'members'}, ${input.private ?? false},
          ${input.hidden ?? false}, ${input.auto_join ?? false}, ${input.digest_by_default ?? false}, ${lastPosition(clubId)}, ${now}, ${now})
        ON CONFLICT (club_id, public_id) DO NOTHING RETURNING 1`);
      return rows.length > 0;
    });
    if (input.auto_join) await beginFill(tx, clubId, id, now);
  });
  return readSpace(db, storage, clubId, id);
}

const lastPosition = (clubId: Id) =>
  sql`(SELECT coalesce(max(position), 0) + 1 FROM community_spaces WHERE club_id = ${clubId})`;

/**
 * The lock prevents two concurrent creations from both passing the limit.
 * @throws DomainError space_limit_reached
 */
async function requireRoomForSpace(tx: Transaction, clubId: Id): Promise<void> {
  await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
  if ((await tx.manager.countBy(CommunitySpace, { clubId })) >= maxSpaces)
    throw new DomainError('space_limit_reached', `The club has reached its limit of ${maxSpaces} spaces.`);
}

/** @throws DomainError invalid_request */
function nameOf(text: string): string {
  const name = tidyName(text);
  if (!hasVisible(name)) throw new DomainError('invalid_request', 'name has no visible character.');
  return name;
}

/**
 * Changes the fields of the space that `input` contains. If the change switches `auto_join` on, a workflow then makes each student with
 * access a member.
 * @throws DomainError not_found (also if the cover does not exist), public_id_taken, media_archived, invalid_request
 */
export async function updateSpace(
  { db, storage }: MediaDeps,
  clubId: Id,
  spaceId: Id,
  input: RecordOf<'SpaceChange'>,
  now: Date,
): Promise<SpaceRecord> {
  await db.transaction(async (tx) => {
    const before = await lockSpace(tx, clubId, spaceId);
    const change = given({
      publicId: input.public_id,
      name: input.name === undefined ? undefined : nameOf(input.name),
      description: input.description === '' ? null : input.description,
      posting: input.posting,
      private: input.private,
      hidden: input.hidden,
      autoJoin: input.auto_join,
      digestByDefault: input.digest_by_default,
      updatedAt: now,
    });
    await tx.manager.update(CommunitySpace, { id: spaceId }, change).catch((error: unknown) => {
      throw refusalOf(error, 'space');
    });
    const isOpener = input.private !== undefined && input.private !== before.private;
    if (isOpener || (input.auto_join === true && !before.autoJoin)) await beginFill(tx, clubId, spaceId, now);
    if (input.cover_media_id !== undefined)
      await setCover(tx, clubId, { kind: 'space', id: spaceId }, input.cover_media_id);
  });
  return readSpace(db, storage, clubId, spaceId);
}

/**
 * Starts the workflow that updates the memberships of a space. If the workflow is already running, it begins again with the first student.
 * The caller holds the lock of the space.
 */
async function beginFill(tx: Transaction, clubId: Id, spaceId: Id, now: Date): Promise<void> {
  await tx.manager.update(CommunitySpace, { id: spaceId }, { fillLooksAt: now, fillAfter: null, fillBarrier: null });
  await wake(tx, 'spaceFill', [{ id: spaceId, clubId }], now);
}

/**
 * Sets the order in which students see the club's spaces.
 * @throws DomainError invalid_request unless `spaceIds` names each space that is not archived exactly once, and no other
 */
export async function orderSpaces({ db }: DatabaseDeps, clubId: Id, spaceIds: readonly Id[]): Promise<void> {
  const orderedIds = spaceIds.map((id) => id.toLowerCase());
  await db.transaction(async (tx) => {
    const present = await tx.rows<{ id: Id }>(
      sql`SELECT id FROM community_spaces WHERE club_id = ${clubId} AND archived_at IS NULL ORDER BY id FOR NO KEY UPDATE`,
    );
    const distinctIds = new Set(orderedIds);
    if (orderedIds.length !== present.length || present.some(({ id }) => !distinctIds.has(id)))
      throw new DomainError(
        'invalid_request',
        'space_ids must name each space that is not archived exactly once, and no other space.',
      );
    await tx.run(sql`UPDATE community_spaces space SET position = requested.position
      FROM unnest(${orderedIds}::uuid[]) WITH ORDINALITY AS requested (id, position) WHERE space.id = requested.id`);
  });
}

/** Archives the space, so that students no longer see it. An archived space stays as it is. @throws DomainError not_found */
export async function archiveSpace(deps: MediaDeps, clubId: Id, spaceId: Id, now: Date): Promise<SpaceRecord> {
  await deps.db.transaction(async (tx) => {
    const { archivedAt } = await lockSpace(tx, clubId, spaceId);
    if (archivedAt === null)
      await tx.manager.update(CommunitySpace, { id: spaceId }, { archivedAt: now, updatedAt: now });
  });
  return readSpace(deps.db, deps.storage, clubId, spaceId);
}

/**
 * Restores an archived space at the end of the order. A space that is not archived stays as it is.
 * @throws DomainError not_found, feature_not_in_plan
 */
export async function unarchiveSpace(deps: MediaDeps, clubId: Id, spaceId: Id, now: Date): Promise<SpaceRecord> {
  await deps.db.transaction(async (tx) => {
    const { archivedAt } = await lockSpace(tx, clubId, spaceId);
    if (archivedAt === null) return;
    await requireFeature(tx, clubId, 'community');
    await tx.run(
      sql`UPDATE community_spaces SET archived_at = NULL, position = ${lastPosition(clubId)}, updated_at = ${now} WHERE id = ${spaceId}`,
    );
  });
  return readSpace(deps.db, deps.storage, clubId, spaceId);
}

/** Locks the space's row, so that changes of one space run one after another. @throws DomainError not_found */
async function lockSpace(tx: Transaction, clubId: Id, spaceId: Id): Promise<CommunitySpace> {
  const space = await tx.manager.findOne(CommunitySpace, {
    where: { id: spaceId, clubId },
    lock: { mode: 'for_no_key_update' },
  });
  if (!space) throw notFound('space');
  return space;
}

/** @throws DomainError not_found (also for a space of another club) */
export async function requireSpace(db: Queries, clubId: Id, spaceId: Id): Promise<void> {
  if (!(await db.manager.exists(CommunitySpace, { where: { id: spaceId, clubId } }))) throw notFound('space');
}

async function presentSpaces(db: Queries, storage: ObjectStore, rows: readonly SpaceRow[]): Promise<SpaceRecord[]> {
  const covers = await presentUsed(
    db,
    storage,
    'space',
    rows.map(({ id }) => id),
  );
  return rows.map((row) => {
    const [cover] = covers.get(row.id) ?? [];
    return {
      id: row.id,
      public_id: row.publicId,
      name: row.name,
      ...(row.description !== null && { description: row.description }),
      ...(cover && { cover }),
      posting: row.posting,
      private: row.private,
      hidden: row.hidden,
      auto_join: row.autoJoin,
      digest_by_default: row.digestByDefault,
      member_count: row.memberCount,
      archived: row.archivedAt !== null,
      created_at: row.createdAt.toISOString(),
      updated_at: row.updatedAt.toISOString(),
    };
  });
}
