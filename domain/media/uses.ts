/** Where files of the library are used: rows that whoever names a file writes in its own transaction (MED-14). */
import { MediaUse } from '../../entities/media/media-use.ts';
import type { MediaUseKind } from '../../entities/media/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { columns, raw, sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import { loadMedia } from './media.ts';

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

/**
 * Of `automation_versions version` and its `automations automation`: whether runs begin in the version, or are in it.
 * Versions without either keep their rows until the next one is published; no list shows them.
 */
const liveVersion = sql`(automation.published_id = version.id AND automation.status IN ('active', 'paused')
  OR EXISTS (SELECT FROM automation_runs run WHERE run.version_id = version.id AND run.status = 'active'))`;

/** Of `media_uses use`. */
const isShown = sql`((use.kind <> 'automation_version' OR EXISTS (
  SELECT FROM automation_versions version JOIN automations automation ON automation.id = version.automation_id
   WHERE version.id = use.place_id AND ${liveVersion}))
  AND (use.kind <> 'assignment' OR EXISTS (
  SELECT FROM assignments assignment JOIN lessons lesson ON lesson.id = assignment.lesson_id
   WHERE assignment.id = use.place_id AND lesson.removed_at IS NULL)))`;

/** What a place is called, by its kind: a value for `media_uses use`. */
const titles: Readonly<Record<MediaUseKind, Sql>> = {
  lesson: sql`SELECT title FROM lessons WHERE id = use.place_id`,
  course: sql`SELECT title FROM courses WHERE id = use.place_id`,
  agent: sql`SELECT name FROM agents WHERE id = use.place_id`,
  campaign: sql`SELECT name FROM campaigns WHERE id = use.place_id`,
  automation: sql`SELECT name FROM automations WHERE id = use.place_id`,
  automation_version: sql`SELECT automation.name || ', version ' || version.number FROM automation_versions version
    JOIN automations automation ON automation.id = version.automation_id WHERE version.id = use.place_id`,
  assignment: sql`SELECT coalesce(assignment.block_label, lesson.title) FROM assignments assignment
    JOIN lessons lesson ON lesson.id = assignment.lesson_id WHERE assignment.id = use.place_id`,
  assignment_review: sql`SELECT coalesce(assignment.block_label, lesson.title) FROM assignment_reviews review
    JOIN assignment_attempts attempt ON attempt.id = review.attempt_id
    JOIN assignment_submissions submission ON submission.id = attempt.submission_id
    JOIN assignments assignment ON assignment.id = submission.assignment_id
    JOIN lessons lesson ON lesson.id = assignment.lesson_id WHERE review.id = use.place_id`,
  repository: sql`SELECT title FROM repositories WHERE id = use.place_id`,
  space: sql`SELECT name FROM community_spaces WHERE id = use.place_id`,
  post: sql`SELECT coalesce(post.title, space.name) FROM community_posts post
    JOIN community_spaces space ON space.id = post.space_id WHERE post.id = use.place_id`,
  branding: sql`SELECT name FROM clubs WHERE id = use.place_id`,
};
const kindWhen = Object.entries(titles).map(([kind, title]) => sql`WHEN ${raw(`'${kind}'`)} THEN (${title})`);
const title = sql`CASE use.kind ${kindWhen.reduce((left, right) => sql`${left} ${right}`)} END`;

const useColumns = columns(MediaUse, { kind: 'kind', id: 'placeId' }, 'use').and<{ title: string }>(
  sql`${title} AS title`,
);

/** Of `media`: how many places use it. */
export const usageCount = sql`(SELECT count(*)::int FROM media_uses use WHERE use.media_id = media.id AND ${isShown})`;

/** @returns a page of the places that use a file, by title @throws DomainError not_found (no file of the club's library) */
export async function usesOf(
  db: Queries,
  clubId: Id,
  mediaId: Id,
  request: PageRequest,
): Promise<Page<RecordOf<'MediaUse'>>> {
  if (!(await loadMedia(db, { clubId }, mediaId))) throw notFound('file');
  return listPage(db, request, {
    columns: useColumns,
    from: sql`FROM media_uses use WHERE use.media_id = ${mediaId} AND ${isShown}`,
    orderBy: sql`title, use.kind, use.place_id`,
  });
}

/** Places that a refusal names. */
const namedPlaces = 3;

/**
 * Ends all uses of a file that is about to be deleted. The caller holds its row `FOR NO KEY UPDATE`, so no use is added meanwhile.
 * @param force ends uses, but those of versions of automations that are published or under way
 * @throws DomainError in_use, naming the first places
 */
export async function endUses(tx: Transaction, mediaId: Id, force: boolean): Promise<void> {
  const kept = force ? sql`use.kind = 'automation_version' AND ${isShown}` : isShown;
  const places = await tx.rows<{ kind: MediaUseKind; title: string; places: number }>(sql`
    SELECT use.kind, ${title} AS title, count(*) OVER ()::int AS places FROM media_uses use
     WHERE use.media_id = ${mediaId} AND ${kept} ORDER BY title, use.kind, use.place_id LIMIT ${namedPlaces}`);
  const [first] = places;
  if (first) {
    const named = places.map((place) => `${place.kind} “${place.title}”`).join(', ');
    const more = first.places - places.length;
    const hint = force ? 'These cannot be ended from here.' : '`force=true` ends these uses.';
    throw new DomainError('in_use', `The file is used by ${named}${more > 0 ? ` and ${more} more` : ''}. ${hint}`);
  }
  await tx.run(sql`DELETE FROM media_uses WHERE media_id = ${mediaId}`);
}

/** Ends what versions of an automation used that nobody enters and nobody is in any more; the caller holds the automation. */
export async function endUsesOfOldVersions(tx: Transaction, automationId: Id): Promise<void> {
  await tx.run(sql`
    DELETE FROM media_uses use USING automation_versions version, automations automation
     WHERE use.kind = 'automation_version' AND use.place_id = version.id AND version.automation_id = ${automationId}
       AND automation.id = version.automation_id AND NOT ${liveVersion}`);
}
