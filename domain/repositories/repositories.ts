/** Creates, lists, reads and changes the repositories of a club and their files, for administrators (REPO-3). */
import { Repository } from '../../entities/repositories/repository.ts';
import { RepositoryItem } from '../../entities/repositories/repository-item.ts';
import type { RepositoryStatus } from '../../entities/repositories/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { tidyName } from '../../platform/core/text/text.policy.ts';
import type { Transaction, Queries } from '../../platform/infra/postgres/database.ts';
import type { Page, PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { insertWithPublicId, refusalOf } from '../../platform/infra/postgres/public-ids.ts';
import { all, columns, given, sql } from '../../platform/infra/postgres/sql.ts';
import { requireFeature } from '../billing/allowances.ts';
import { requireCoverImage } from '../media/uses/covers.ts';
import type { MediaDeps } from '../media/media.ts';
import { setUses } from '../media/uses/uses.ts';
import { listShown, showOne, type Showing } from './showing.ts';

/**
 * Creates a repository as a draft without files.
 * @throws DomainError feature_not_in_plan, public_id_taken, not_found (no such cover), media_archived, invalid_request (the cover is not an
 * image)
 */
export async function createRepository(
  { db, storage }: MediaDeps,
  clubId: Id,
  input: RecordOf<'RepositoryCreation'>,
  now: Date,
): Promise<RecordOf<'Repository'>> {
  const id = newId();
  return db.transaction(async (tx) => {
    await requireFeature(tx, clubId, 'repositories');
    await insertWithPublicId('repository', input, async (publicId) => {
      const rows =
        await tx.rows(sql`INSERT INTO repositories (id, club_id, public_id, title, description, instructor_name, created_at, updated_at)
         VALUES (${id}, ${clubId}, ${publicId}, ${tidyName(input.title)}, ${input.description ?? ''}, ${tidyName(input.instructor_name ?? '')}, ${now}, ${now})
         ON CONFLICT (club_id, public_id) DO NOTHING RETURNING 1`);
      return rows.length > 0;
    });
    await changeCover(tx, clubId, id, input.cover_media_id);
    return findRepository({ db: tx, storage }, clubId, id);
  });
}

/** @returns a page of the club's repositories, newest first */
export async function listRepositories(
  showing: Showing,
  clubId: Id,
  filter: PageRequest & { status?: RepositoryStatus },
): Promise<Page<RecordOf<'RepositorySummary'>>> {
  const chosen = all([
    sql`repository.club_id = ${clubId}`,
    filter.status === undefined ? undefined : sql`repository.status = ${filter.status}`,
  ]);
  return listShown(showing, filter, chosen, 'administrator');
}

/** @returns the repository with its files @throws DomainError not_found (also for a repository of another club) */
export async function findRepository(showing: Showing, clubId: Id, repositoryId: Id): Promise<RecordOf<'Repository'>> {
  return showOne(showing, sql`repository.club_id = ${clubId} AND repository.id = ${repositoryId}`, 'administrator');
}

/**
 * Changes the fields that are present.
 * @throws DomainError not_found (also if the cover does not exist), feature_not_in_plan (only if the repository is published),
 *   public_id_taken, media_archived, invalid_request (the cover is not an image)
 */
export async function updateRepository(
  { db, storage }: MediaDeps,
  clubId: Id,
  repositoryId: Id,
  input: RecordOf<'RepositoryChange'>,
  now: Date,
): Promise<RecordOf<'Repository'>> {
  return db.transaction(async (tx) => {
    const before = await lockRepository(tx, clubId, repositoryId);
    const isPublished = input.status === 'published' && before !== 'published';
    if (isPublished) await requireFeature(tx, clubId, 'repositories');
    const change = given({
      title: input.title === undefined ? undefined : tidyName(input.title),
      description: input.description,
      instructorName: input.instructor_name === undefined ? undefined : tidyName(input.instructor_name),
      publicId: input.public_id,
      status: input.status,
      publishedAt: isPublished ? now : undefined,
      updatedAt: now,
    });
    await tx.manager.update(Repository, { id: repositoryId }, change).catch((error: unknown) => {
      throw refusalOf(error, 'repository');
    });
    await changeCover(tx, clubId, repositoryId, input.cover_media_id);
    return findRepository({ db: tx, storage }, clubId, repositoryId);
  });
}

/**
 * Sets the files of a repository, in this order. A file that was already there keeps the time of its addition.
 * @throws DomainError not_found (no such repository or file), media_archived (an archived file that was not in the repository),
 *   invalid_request (the request names a file twice)
 */
export async function setItems(
  { db, storage }: MediaDeps,
  clubId: Id,
  repositoryId: Id,
  input: RecordOf<'RepositoryItems'>,
  now: Date,
): Promise<RecordOf<'Repository'>> {
  const mediaIds = input.media_ids.map((mediaId) => mediaId.toLowerCase());
  if (new Set(mediaIds).size < mediaIds.length)
    throw new DomainError('invalid_request', 'media_ids names the same file twice.');
  return db.transaction(async (tx) => {
    await lockRepository(tx, clubId, repositoryId);
    const { cover } = await filesOf(tx, repositoryId);
    const mayBeGone = cover !== undefined && !mediaIds.includes(cover) ? [cover] : [];
    await useFiles(tx, clubId, repositoryId, [...mediaIds, ...mayBeGone], mayBeGone);
    const before = await tx.rows<{ mediaId: Id; addedAt: Date }>(
      sql`DELETE FROM repository_items WHERE repository_id = ${repositoryId} RETURNING ${columns(RepositoryItem, ['mediaId', 'addedAt'])}`,
    );
    const addedAt = new Map(before.map((item) => [item.mediaId, item.addedAt]));
    await tx.manager.insert(
      RepositoryItem,
      mediaIds.map((mediaId, position) => ({
        repositoryId,
        mediaId,
        position,
        addedAt: addedAt.get(mediaId) ?? now,
      })),
    );
    await tx.manager.update(Repository, { id: repositoryId }, { updatedAt: now });
    return findRepository({ db: tx, storage }, clubId, repositoryId);
  });
}

/**
 * Locks the repository's row until the transaction ends, so the changes of the repository run one at a time.
 * @returns its status
 * @throws DomainError not_found
 */
async function lockRepository(tx: Transaction, clubId: Id, repositoryId: Id): Promise<RepositoryStatus> {
  const repository = await tx.one<{ status: RepositoryStatus }>(
    sql`SELECT status FROM repositories WHERE id = ${repositoryId} AND club_id = ${clubId} FOR NO KEY UPDATE`,
  );
  if (!repository) throw notFound('repository');
  return repository.status;
}

/**
 * The caller holds the lock of the repository.
 * @param mediaId `none` removes the cover; undefined changes nothing
 */
async function changeCover(tx: Transaction, clubId: Id, repositoryId: Id, mediaId: string | undefined): Promise<void> {
  if (mediaId === undefined) return;
  const cover = mediaId === 'none' ? [] : [mediaId.toLowerCase()];
  const { items } = await filesOf(tx, repositoryId);
  const mayBeGone = items.filter((item) => !cover.includes(item)); // an administrator may have deleted a used file with `force`
  await useFiles(tx, clubId, repositoryId, [...mayBeGone, ...cover], mayBeGone);
  for (const image of cover) await requireCoverImage(tx, image);
  await tx.manager.update(Repository, { id: repositoryId }, { coverMediaId: cover[0] ?? null });
}

/** @throws DomainError not_found (a file is not in the library, and not in `mayBeGone`), media_archived */
async function useFiles(
  tx: Transaction,
  clubId: Id,
  repositoryId: Id,
  mediaIds: readonly Id[],
  mayBeGone: readonly Id[],
): Promise<void> {
  await setUses(tx, clubId, { kind: 'repository', id: repositoryId }, mediaIds, { mayBeGone }).catch(
    (error: unknown) => {
      throw error instanceof DomainError && error.code === 'not_found' ? notFound('file') : error;
    },
  );
}

async function filesOf(db: Queries, repositoryId: Id): Promise<{ cover: Id | undefined; items: Id[] }> {
  const row = await db.one<{ cover: Id | null; items: Id[] }>(sql`
    SELECT cover_media_id AS cover,
           ARRAY(SELECT media_id FROM repository_items WHERE repository_id = repositories.id) AS items
      FROM repositories WHERE id = ${repositoryId}`);
  return { cover: row?.cover ?? undefined, items: row?.items ?? [] };
}
