/** Where files of the library are used: rows that whoever names a file writes in its own transaction (MED-14). */
import { MediaUse } from '../../../entities/media/media-use.ts';
import { mediaUseKinds, type MediaUseKind } from '../../../entities/media/values.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { all, columns, raw, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { loadMedia, type LibraryDeps } from '../media.ts';
import type { EveryMediaUsePlace } from '../use-places.ts';

/** What names files: a lesson, the cover of a course, the material of an agent, an e-mail. */
export interface MediaPlace {
  kind: MediaUseKind;
  id: Id;
}

/**
 * Makes these the files that a place uses, in place of those that it used before. The caller holds the place, so that its
 * uses are written one after the other, and has not locked the club's row yet (docs/explanation/architecture.md#locks).
 * A file cannot be deleted or archived between this look and the end of the transaction.
 * @param mediaIds in any case and order; one that is named twice counts once
 * @param mayBeGone files that are passed over where the library has them no more: what the place named before, or all that
 *   a draft names, whose problems are told later
 * @param from a place whose files this one takes over: what is archived stays in use there
 * @throws DomainError not_found (no file of the club's library), media_archived (an archived file that the place did not use)
 */
export async function setUses(
  tx: Transaction,
  clubId: Id,
  { kind, id }: MediaPlace,
  mediaIds: readonly Id[],
  { mayBeGone = [], from }: { mayBeGone?: readonly Id[]; from?: MediaPlace } = {},
): Promise<void> {
  const asked = [...new Set(mediaIds.map((mediaId) => mediaId.toLowerCase()))];
  const files = await lockFiles(tx, clubId, asked);
  const used = new Set(await usedBy(tx, { kind, id }));
  const passedOver = new Set(mayBeGone.map((mediaId) => mediaId.toLowerCase()));
  const found = new Set(files.map((file) => file.id));
  const stranger = asked.find((mediaId) => !found.has(mediaId) && !passedOver.has(mediaId));
  if (stranger !== undefined)
    throw new DomainError('not_found', `There is no file ${stranger} in the library of this club.`);
  const takenOver = new Set(from && (await usedBy(tx, from)));
  const archived = files.find((file) => file.archived && !used.has(file.id) && !takenOver.has(file.id));
  if (archived)
    throw new DomainError(
      'media_archived',
      `The file ${archived.id} is archived. Take it out of the archive to use it in another place.`,
    );
  const added = [...found].filter((mediaId) => !used.has(mediaId));
  const ended = [...used].filter((mediaId) => !found.has(mediaId));
  if (ended.length > 0)
    await tx.run(
      sql`DELETE FROM media_uses WHERE kind = ${kind} AND place_id = ${id} AND media_id = ANY (${ended}::uuid[])`,
    );
  if (added.length > 0)
    await tx.run(
      sql`INSERT INTO media_uses (media_id, kind, place_id) SELECT added, ${kind}, ${id} FROM unnest(${added}::uuid[]) AS added`,
    );
}

async function usedBy(tx: Transaction, { kind, id }: MediaPlace): Promise<Id[]> {
  const rows = await tx.rows<{ mediaId: Id }>(
    sql`SELECT ${columns(MediaUse, ['mediaId'])} FROM media_uses WHERE kind = ${kind} AND place_id = ${id}`,
  );
  return rows.map(({ mediaId }) => mediaId);
}

/** In the order of their ids, like everybody who holds several. What was removed before it was held is not among them. */
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

/** Of `media_uses use`: whether lists show it. */
function isLive(places: EveryMediaUsePlace): Sql {
  const conditions = placesOf(places).map(
    ([kind, place]) => place.isLive && sql`(use.kind <> ${raw(`'${kind}'`)} OR ${place.isLive})`,
  );
  return all([sql`true`, ...conditions]);
}

/** Of `media_uses use`: what its place is called. */
function title(places: EveryMediaUsePlace): Sql {
  const titles = placesOf(places).map(([kind, place]) => sql`WHEN ${raw(`'${kind}'`)} THEN (${place.title})`);
  return sql`CASE use.kind ${titles.reduce((left, right) => sql`${left} ${right}`)} END`;
}

const placesOf = (places: EveryMediaUsePlace) => mediaUseKinds.map((kind) => [kind, places[kind]] as const);

/** Of `media`: how many places use it. */
export const usageCount = (places: EveryMediaUsePlace): Sql =>
  sql`(SELECT count(*)::int FROM media_uses use WHERE use.media_id = media.id AND ${isLive(places)})`;

/** @returns a page of the places that use a file, by title @throws DomainError not_found (no file of the club's library) */
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

/** Places that a refusal names. */
const namedPlaces = 3;

/**
 * Ends all uses of a file that is about to be deleted. The caller holds its row `FOR NO KEY UPDATE`, so no use is added meanwhile.
 * @param force ends uses, except live ones of places that outlast it (versions of automations that are published or under way)
 * @throws DomainError in_use, naming the first places
 */
export async function endUses(tx: Transaction, places: EveryMediaUsePlace, mediaId: Id, force: boolean): Promise<void> {
  const lasting = mediaUseKinds.filter((kind) => !force || places[kind].outlastsForce);
  const users = await tx.rows<{ kind: MediaUseKind; title: string; places: number }>(sql`
    SELECT use.kind, ${title(places)} AS title, count(*) OVER ()::int AS places FROM media_uses use
     WHERE use.media_id = ${mediaId} AND use.kind = ANY (${lasting}::text[]) AND ${isLive(places)} ORDER BY title, use.kind, use.place_id LIMIT ${namedPlaces}`);
  const [first] = users;
  if (first) {
    const named = users.map((place) => `${place.kind} “${place.title}”`).join(', ');
    const more = first.places - users.length;
    const hint = force ? 'These cannot be ended from here.' : '`force=true` ends these uses.';
    throw new DomainError('in_use', `The file is used by ${named}${more > 0 ? ` and ${more} more` : ''}. ${hint}`);
  }
  await tx.run(sql`DELETE FROM media_uses WHERE media_id = ${mediaId}`);
}

/** Ends all uses by places of a kind, live or not. @param which selects the ids of the places */
export async function endUsesOf(tx: Transaction, kind: MediaUseKind, which: Sql): Promise<void> {
  await tx.run(sql`DELETE FROM media_uses WHERE kind = ${kind} AND place_id IN (${which})`);
}
