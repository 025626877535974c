/** Manages the folders of a club's library: a tree with at most ten levels (MED-15). */
import { MediaFolder } from '../../../entities/media/media-folder.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { hasVisible, tidyName } from '../../../platform/core/text/text.policy.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sqlStateOf, violates } from '../../../platform/infra/postgres/errors.ts';
import { ascending } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';

type Folder = RecordOf<'MediaFolder'>;

export const folderRules = {
  /** Some functions read and lock the whole tree. */
  folders: 1_000,
  /** A folder at the top of the library is on level one. */
  depth: 10,
} as const;

const folderColumns = columns(MediaFolder, ['id', 'parentId', 'name', 'createdAt', 'updatedAt']);

function presentFolder({ id, parentId, name, createdAt, updatedAt }: RowOf<typeof folderColumns>): Folder {
  return {
    id,
    name,
    ...(parentId !== null && { parent_id: parentId }),
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

/** @returns a page of the club's folders on all levels, by name */
export async function listFolders(db: Queries, clubId: Id, page: PageRequest): Promise<Page<Folder>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: folderColumns,
    from: sql`FROM media_folders WHERE club_id = ${clubId}`,
    changedAt: 'changed_at',
    orderBy: [ascending('folded_name', 'text'), ascending('id', 'uuid')],
  });
  return { rows: rows.map(presentFolder), total, next };
}

const foldName = (name: string) => name.toLowerCase();

/** @throws DomainError not_found (no such parent), name_taken, folder_too_deep, folder_limit_reached, invalid_request */
export async function createFolder(
  { db }: DatabaseDeps,
  clubId: Id,
  input: RecordOf<'MediaFolderCreation'>,
  now: Date,
): Promise<Folder> {
  const name = nameOf(input.name);
  const parentId = input.parent_id ?? null;
  return db.transaction(async (tx) => {
    const tree = await lockTree(tx, clubId);
    if (parentId !== null && !tree.has(parentId.toLowerCase())) throw notFound('folder');
    if (tree.size >= folderRules.folders)
      throw new DomainError('folder_limit_reached', `A library has at most ${folderRules.folders} folders.`);
    if (depthOf(tree, parentId) + 1 > folderRules.depth) throw tooDeep();
    const id = newId();
    await tx.manager
      .insert(MediaFolder, { id, clubId, parentId, name, foldedName: foldName(name), createdAt: now, updatedAt: now })
      .catch(rethrowNameTaken);
    return findFolder(tx, clubId, id);
  });
}

/**
 * Renames or moves a folder. An absent field does not change. @param input.parent_id the new parent, or `top` for the top of the library
 * @throws DomainError not_found (no such folder or parent), name_taken, folder_too_deep, folder_cycle, invalid_request
 */
export async function updateFolder(
  { db }: DatabaseDeps,
  clubId: Id,
  folderId: Id,
  input: RecordOf<'MediaFolderChange'>,
  now: Date,
): Promise<Folder> {
  const name = input.name === undefined ? undefined : nameOf(input.name);
  return db.transaction(async (tx) => {
    const tree = await lockTree(tx, clubId);
    if (!tree.has(folderId)) throw notFound('folder');
    const newParent = input.parent_id?.toLowerCase();
    const parentId = newParent === undefined ? tree.get(folderId) : newParent === 'top' ? null : newParent;
    if (parentId === undefined || (parentId !== null && !tree.has(parentId))) throw notFound('folder');
    if (wayUp(tree, parentId).includes(folderId))
      throw new DomainError('folder_cycle', 'A folder cannot be moved into itself or into one of its subfolders.');
    if (depthOf(tree, parentId) + heightOf(tree, folderId) > folderRules.depth) throw tooDeep();
    await tx.manager
      .update(
        MediaFolder,
        { id: folderId, clubId },
        { parentId, ...(name !== undefined && { name, foldedName: foldName(name) }), updatedAt: now },
      )
      .catch(rethrowNameTaken);
    return findFolder(tx, clubId, folderId);
  });
}

/**
 * Deletes an empty folder. If the folder contains files or folders, their foreign keys prevent the deletion, even if a file moves into the
 * folder at the same time. The function does not lock the tree, because that lock could cause a deadlock: a transaction that moves a file
 * holds the folder's lock, and may wait for other locks.
 * @throws DomainError not_found, folder_not_empty
 */
export async function deleteFolder({ db }: DatabaseDeps, clubId: Id, folderId: Id): Promise<void> {
  await db
    .transaction(async (tx) => {
      const deleted = await tx.run(sql`DELETE FROM media_folders WHERE id = ${folderId} AND club_id = ${clubId}`);
      if (deleted === 0) throw notFound('folder');
    })
    .catch((error: unknown) => {
      const isNotEmpty = sqlStateOf(error) === '23503'; // the error code of Postgres for a violated foreign key
      throw isNotEmpty
        ? new DomainError('folder_not_empty', 'The folder contains files or folders. Move them out first.')
        : error;
    });
}

/**
 * Locks a folder before a file is put into it, so that it is not deleted. Afterwards the file's foreign key protects it.
 * @throws DomainError not_found
 */
export async function requireFolder(tx: Transaction, clubId: Id, folderId: Id): Promise<void> {
  const folders = await tx.rows(
    sql`SELECT 1 FROM media_folders WHERE id = ${folderId} AND club_id = ${clubId} FOR KEY SHARE`,
  );
  if (folders.length === 0) throw notFound('folder');
}

async function findFolder(tx: Transaction, clubId: Id, id: Id): Promise<Folder> {
  const row = await tx.one<RowOf<typeof folderColumns>>(
    sql`SELECT ${folderColumns} FROM media_folders WHERE id = ${id} AND club_id = ${clubId}`,
  );
  if (!row) throw notFound('folder');
  return presentFolder(row);
}

/** The parent of each folder, by the folder's id. */
type Tree = ReadonlyMap<Id, Id | null>;

/**
 * Reads and locks the club's tree of folders. Until the transaction ends, other transactions can only delete empty folders. The function
 * takes an advisory lock and does not lock the club's row. A lock of that row could cause a deadlock: a transaction that moves a file holds
 * a folder's lock, and may wait for the club's row.
 */
async function lockTree(tx: Transaction, clubId: Id): Promise<Tree> {
  await tx.run(sql`SELECT pg_advisory_xact_lock(hashtextextended('media folders ' || ${clubId}::text, 0))`);
  const rows = await tx.rows<{ id: Id; parentId: Id | null }>(
    sql`SELECT id, parent_id AS "parentId" FROM media_folders WHERE club_id = ${clubId}`,
  );
  return new Map(rows.map(({ id, parentId }) => [id, parentId]));
}

/** @returns the folder and its parents, from the bottom up; empty for the top of the library */
function wayUp(tree: Tree, from: Id | null): Id[] {
  const path: Id[] = [];
  for (let at = from; at !== null && path.length <= tree.size; at = tree.get(at) ?? null) path.push(at);
  return path;
}

const depthOf = (tree: Tree, folderId: Id | null) => wayUp(tree, folderId?.toLowerCase() ?? null).length;

/** @returns the number of levels in the folder's subtree, including the folder */
function heightOf(tree: Tree, folderId: Id): number {
  const own = depthOf(tree, folderId);
  const depths = [...tree.keys()].flatMap((id) => {
    const path = wayUp(tree, id);
    return path.includes(folderId) ? [path.length] : [];
  });
  return Math.max(own, ...depths) - own + 1;
}

function nameOf(input: string): string {
  const name = tidyName(input);
  if (!hasVisible(name)) throw new DomainError('invalid_request', 'name must have a letter.');
  return name;
}

const tooDeep = () => new DomainError('folder_too_deep', `Folders have at most ${folderRules.depth} levels.`);

/** @throws DomainError name_taken, also for names that differ only in case */
function rethrowNameTaken(error: unknown): never {
  throw violates(error, 'media_folders_name') || violates(error, 'media_folders_top_name')
    ? new DomainError('name_taken', 'Another folder with the same parent has this name.')
    : error;
}
