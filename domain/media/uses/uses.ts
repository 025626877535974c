/** The uses of the library's files by records. The transaction in which a record begins to name a file also writes the use (MED-14). */
import { MediaUse } from '../../../entities/media/media-use.ts';
import { mediaUseKinds, type MediaUseKind } from '../../../entities/media/values.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { all, columns, raw, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { loadMedia, type LibraryDeps } from '../media.ts';
import type { AllMediaUseRules } from '../use-rules.ts';

/** A record that uses files: a lesson, a course with a cover, an agent with material, an e-mail. */
export interface UsingRecord {
  kind: MediaUseKind;
  id: Id;
}

/**
 * Replaces the files that a record uses. The caller holds the record's lock, so that the uses of the record are written one after another.
 * The caller must not hold the lock of the club's row (docs/explanation/architecture.md#locks). No file of the list can be deleted or
 * archived before the transaction ends.
 * @param mediaIds in any order and case; repeated ids count once
 * @param mayBeGone the ids of files that may no longer exist in the library. For most records, these are the files that the record used
 * before. For a draft, these are all files of the draft, because the service reports the problems of a draft later
 * @param from the record from which this record was copied. An archived file is accepted if that record uses it
 * @throws DomainError not_found (no file of the club's library), media_archived (an archived file that the record did not use)
 */
export async function setUses(
  tx: Transaction,
  clubId: Id,
  { kind, id }: UsingRecord,
  mediaIds: readonly Id[],
  { mayBeGone = [], from }: { mayBeGone?: readonly Id[]; from?: UsingRecord } = {},
): Promise<void> {
  const requestedIds = [...new Set(mediaIds.map((mediaId) => mediaId.toLowerCase()))];
  const files = await lockFiles(tx, clubId, requestedIds);
  const used = new Set(await usedBy(tx, { kind, id }));
  const optionalIds = new Set(mayBeGone.map((mediaId) => mediaId.toLowerCase()));
  const fileIds = new Set(files.map((file) => file.id));
  const unknownId = requestedIds.find((mediaId) => !fileIds.has(mediaId) && !optionalIds.has(mediaId));
  if (unknownId !== undefined)
    throw new DomainError('not_found', `There is no file ${unknownId} in the library of this club.`);
  const usedByOrigin = new Set(from && (await usedBy(tx, from)));
  const archived = files.find((file) => file.archived && !used.has(file.id) && !usedByOrigin.has(file.id));
  if (archived)
    throw new DomainError(
      'media_archived',
      `The file ${archived.id} is archived. Take it out of the archive before you use it elsewhere.`,
    );
  const added = [...fileIds].filter((mediaId) => !used.has(mediaId));
  const ended = [...used].filter((mediaId) => !fileIds.has(mediaId));
  if (ended.length > 0)
    await tx.run(
      sql`DELETE FROM media_uses WHERE kind = ${kind} AND place_id = ${id} AND media_id = ANY (${ended}::uuid[])`,
    );
  if (added.length > 0)
    await tx.run(
      sql`INSERT INTO media_uses (media_id, kind, place_id) SELECT added, ${kind}, ${id} FROM unnest(${added}::uuid[]) AS added`,
    );
}

async function usedBy(tx: Transaction, { kind, id }: UsingRecord): Promise<Id[]> {
  const rows = await tx.rows<{ mediaId: Id }>(
    sql`SELECT ${columns(MediaUse, ['mediaId'])} FROM media_uses WHERE kind = ${kind} AND place_id = ${id}`,
  );
  return rows.map(({ mediaId }) => mediaId);
}

/** Locks files in the order of their ids, like every transaction that locks several files. Removed files are left out. */
async function lockFiles(
  tx: Transaction,
  clubId: Id,
  mediaIds: readonly Id[],
): Promise<{ id: Id; archived: boolean }[]> {
  if (mediaIds.length === 0) return [];
  return tx.rows(sql`
    SELECT id, archived FROM media
     WHERE id = ANY (${mediaIds}::uuid[]) AND club_id = ${clubId} AND purpose = 'library' AND removed_at IS NULL
     ORDER BY id FOR SHARE`);
}

/** True if the row `media_uses use` is live. */
function isLive(places: AllMediaUseRules): Sql {
  const conditions = rulesOf(places).map(
    ([kind, place]) => place.isLive && sql`(use.kind <> ${raw(`'${kind}'`)} OR ${place.isLive})`,
  );
  return all([sql`true`, ...conditions]);
}

/** The SQL for the title of the record that a row `media_uses use` names. */
function title(places: AllMediaUseRules): Sql {
  const titles = rulesOf(places).map(([kind, place]) => sql`WHEN ${raw(`'${kind}'`)} THEN (${place.title})`);
  return sql`CASE use.kind ${titles.reduce((left, right) => sql`${left} ${right}`)} END`;
}

const rulesOf = (places: AllMediaUseRules) => mediaUseKinds.map((kind) => [kind, places[kind]] as const);

/** The number of records that use the file of a row of `media`. */
export const usageCount = (places: AllMediaUseRules): Sql =>
  sql`(SELECT count(*)::int FROM media_uses use WHERE use.media_id = media.id AND ${isLive(places)})`;

/** @returns a page of the records that use a file, sorted by title @throws DomainError not_found (no file of the club's library) */
export async function usesOf(
  { db, mediaUses }: Pick<LibraryDeps, 'mediaUses'> & { db: Queries },
  clubId: Id,
  mediaId: Id,
  request: PageRequest,
): Promise<Page<RecordOf<'MediaUse'>>> {
  if (!(await loadMedia(db, { clubId }, mediaId))) throw notFound('file');
  return listPage(db, request, {
    columns: columns(MediaUse, { kind: 'kind', id: 'placeId' }, 'use').and<{ title: string }>(
      sql`${title(mediaUses)} AS title`,
    ),
    from: sql`FROM media_uses use WHERE use.media_id = ${mediaId} AND ${isLive(mediaUses)}`,
    orderBy: sql`title, use.kind, use.place_id`,
  });
}

/** The maximum number of records that a refusal names. */
const namedRecords = 3;

/**
 * Ends all uses of a file before its deletion. The caller holds the file's row `FOR NO KEY UPDATE`, so no other transaction can add a use.
 * @param force if true, live uses also end. A live use by a version of an automation never ends if the version is published or has runs
 * @throws DomainError in_use, with the names of the first records
 */
export async function endUses(tx: Transaction, places: AllMediaUseRules, mediaId: Id, force: boolean): Promise<void> {
  const lasting = mediaUseKinds.filter((kind) => !force || places[kind].blocksForce);
  const users = await tx.rows<{ kind: MediaUseKind; title: string; places: number }>(sql`
    SELECT use.kind, ${title(places)} AS title, count(*) OVER ()::int AS places FROM media_uses use
     WHERE use.media_id = ${mediaId} AND use.kind = ANY (${lasting}::text[]) AND ${isLive(places)} ORDER BY title, use.kind, use.place_id LIMIT ${namedRecords}`);
  const [first] = users;
  if (first) {
    const named = users.map((place) => `${place.kind} “${place.title}”`).join(', ');
    const more = first.places - users.length;
    const hint = force ? 'These cannot be ended from here.' : '`force=true` ends these uses.';
    throw new DomainError('in_use', `The file is used by ${named}${more > 0 ? ` and ${more} more` : ''}. ${hint}`);
  }
  await tx.run(sql`DELETE FROM media_uses WHERE media_id = ${mediaId}`);
}

/** Ends all uses by these records, live or not. @param which a query for the ids of the records */
export async function endUsesOf(tx: Transaction, kind: MediaUseKind, which: Sql): Promise<void> {
  await tx.run(sql`DELETE FROM media_uses WHERE kind = ${kind} AND place_id IN (${which})`);
}
