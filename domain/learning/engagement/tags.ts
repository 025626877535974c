/** Lists, creates, renames and deletes the tags of a club. */
import { Tag } from '../../../entities/learning/tag.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { violates } from '../../../platform/infra/postgres/errors.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { ascending } from '../../../platform/infra/postgres/lists/order.ts';
import { type Page, type PageRequest, listPage } from '../../../platform/infra/postgres/lists/page.ts';
import { requireUnnamed } from '../../watches/watches.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';

type TagRecord = RecordOf<'Tag'>;

export interface TagRow {
  id: Id;
  name: string;
  createdAt: Date;
}

const tagColumns = columns(Tag, ['id', 'name', 'createdAt'], 'tag');

/** @returns the record that callers see */
export function presentTag(tag: TagRow): TagRecord {
  return { id: tag.id, name: tag.name, created_at: tag.createdAt.toISOString() };
}

/** @returns a page of the club's tags, sorted by name */
export async function listTags(db: Queries, clubId: Id, page: PageRequest): Promise<Page<TagRecord>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: tagColumns,
    from: sql`FROM tags tag WHERE tag.club_id = ${clubId} AND tag.removed_at IS NULL`,
    orderBy: [ascending('tag.folded_name', 'text')],
  });
  return { rows: rows.map(presentTag), total, next };
}

/** @returns the tags of a student, sorted by name */
export async function tagsOf(db: Queries, studentId: Id): Promise<TagRow[]> {
  return db.rows<TagRow>(sql`SELECT ${tagColumns} FROM student_tags given JOIN tags tag ON tag.id = given.tag_id
      WHERE given.student_id = ${studentId} ORDER BY tag.folded_name`);
}

/**
 * Finds a tag and locks its row until the transaction ends. The lock `share` prevents other transactions from deleting the tag. The lock
 * `update` also prevents other transactions from giving the tag to a student or naming it in an automation.
 * @throws DomainError not_found, also for a tag of another club and for a deleted tag
 */
export async function lockTag(tx: Transaction, clubId: Id, tagId: Id, lock: 'share' | 'update'): Promise<TagRow> {
  const tag = await tx.one<TagRow>(
    sql`SELECT ${tagColumns} FROM tags tag WHERE tag.id = ${tagId} AND tag.club_id = ${clubId} AND tag.removed_at IS NULL FOR ${raw(lock)}`,
  );
  if (!tag) throw notFound('tag');
  return tag;
}

const foldName = (name: string) => tidyName(name).toLowerCase();

/** @throws DomainError name_taken, ignoring case */
function rethrowNameTaken(error: unknown): never {
  throw violates(error, 'tags_club_name')
    ? new DomainError('name_taken', 'Another tag of this club has this name.')
    : error;
}

/** @throws DomainError name_taken */
export async function createTag(
  { db }: DatabaseDeps,
  clubId: Id,
  input: { name: string },
  now: Date,
): Promise<TagRecord> {
  return db.transaction(async (tx) => {
    const tag = { id: newId(), name: tidyName(input.name), createdAt: now };
    await tx.manager.insert(Tag, { ...tag, clubId, foldedName: foldName(tag.name) }).catch(rethrowNameTaken);
    return presentTag(tag);
  });
}

/** Renames a tag. The function records no fact about the students who have the tag. @throws DomainError not_found, name_taken */
export async function updateTag(
  { db }: DatabaseDeps,
  clubId: Id,
  tagId: Id,
  input: { name: string },
): Promise<TagRecord> {
  return db.transaction(async (tx) => {
    const before = await lockTag(tx, clubId, tagId, 'update');
    const name = tidyName(input.name);
    await tx.manager.update(Tag, { id: tagId }, { name, foldedName: foldName(name) }).catch(rethrowNameTaken);
    return presentTag({ ...before, name });
  });
}

/**
 * Deletes a tag that no student has and no automation names. The row of the tag stays, because facts name it. @throws DomainError
 * not_found,
 * in_use
 */
export async function deleteTag({ db }: DatabaseDeps, clubId: Id, tagId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await lockTag(tx, clubId, tagId, 'update');
    const user = await tx.one(sql`SELECT 1 FROM student_tags WHERE tag_id = ${tagId} LIMIT 1`);
    if (user) throw new DomainError('in_use', 'Students of this club have the tag.');
    await requireUnnamed(tx, 'tag', tagId);
    await tx.manager.update(Tag, { id: tagId }, { removedAt: now });
  });
}
