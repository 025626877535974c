/**
 * Updates a club's index when its material changes. Each visible lesson or file in an agent's material has exactly one row in
 * `agent_sources`, and there are no other rows. A transaction that changes such material must call `syncSources`.
 */
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { wakeRuns } from '../../platform/engine/wakes.ts';
import { runOf } from '../../platform/engine/workflow-types.ts';
import type { Priority } from '../../entities/facts/values.ts';
import type { SourceKind } from '../../entities/knowledge/values.ts';

/** The lessons and files that a change may have added, removed or modified. */
export interface SourceScope {
  lessonIds?: readonly Id[];
  /** All lessons of these courses belong to the scope. */
  courseIds?: readonly Id[];
  mediaIds?: readonly Id[];
  /** The whole material of these agents belongs to the scope. */
  agentIds?: readonly Id[];
  /** All rows of the club's index, and all material that it should have. */
  wholeClub?: boolean;
  /** The sources must be read again. A changed title is detected without this flag. */
  contentChanged?: boolean;
}

/**
 * Updates the index to the club's current material: adds missing sources, removes unwanted sources with their passages (citations keep
 * their words), and requests a new reading of changed sources.
 *
 * Locks the club's row until the transaction ends. So if two transactions change the material at the same time, the second transaction sees
 * the changes of the first. The order of locks is: first the rows of agents, courses, lessons and media, then the club's row, then the rows
 * of sources
 * (docs/explanation/architecture.md#locks). So call this function after all other writes of the change.
 */
export async function syncSources(tx: Transaction, clubId: Id, scope: SourceScope, now: Date): Promise<void> {
  await tx.run(sql`SELECT 1 FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
  const items = {
    lessonIds: await itemsIn(tx, 'lesson', clubId, scope),
    mediaIds: await itemsIn(tx, 'media', clubId, scope),
  };
  if (items.lessonIds.length + items.mediaIds.length === 0) return;
  await wakeSources(tx, clubId, await syncItems(tx, clubId, items, scope.contentChanged ?? false, now), now);
}

/** A club's whole index needs several statements. */
const wakesAStatement = 1_000;

/** @param priority normal if absent */
export async function wakeSources(
  tx: Transaction,
  clubId: Id,
  sourceIds: readonly Id[],
  now: Date,
  priority?: Priority,
): Promise<void> {
  // The sources are sorted before they are split, so that two transactions that wake the same sources lock them in the same order.
  const runs = sourceIds
    .toSorted()
    .map((id) => ({ ...runOf('sourceIndex', { id, clubId }), ...(priority !== undefined && { priority }) }));
  for (let from = 0; from < runs.length; from += wakesAStatement)
    await wakeRuns(tx, runs.slice(from, from + wakesAStatement), now);
}

/** Requests a new reading. The old passages stay in use until then. */
export const wantedAnew = (now: Date): Sql => sql`wanted_version = wanted_version + 1, status = 'pending',
  error_code = NULL, attempts = 0, looks_at = ${now}, updated_at = ${now}`;

/** An SQL condition on `agent_materials material`: the agent of the material is not archived. */
const ofLivingAgent = sql`EXISTS (SELECT FROM agents agent WHERE agent.id = material.agent_id AND agent.status <> 'archived')`;

interface Wide {
  clubId: Id;
  agentIds: readonly Id[];
  courseIds: readonly Id[];
  wholeClub: boolean;
}

/** The lessons or files of a scope. */
const scopeOf: Record<SourceKind, (scope: Wide) => Sql> = {
  lesson: ({ clubId, agentIds, courseIds, wholeClub }) => sql`
    SELECT id FROM lessons WHERE course_id = ANY (${courseIds}::uuid[])
     UNION SELECT material.lesson_id FROM agents agent JOIN agent_materials material ON material.agent_id = agent.id
            WHERE agent.club_id = ${clubId} AND (${wholeClub}::boolean OR agent.id = ANY (${agentIds}::uuid[]))
              AND material.lesson_id IS NOT NULL
     UNION SELECT lesson.id FROM agents agent JOIN agent_materials material ON material.agent_id = agent.id
             JOIN lessons lesson ON lesson.course_id = material.course_id
            WHERE agent.club_id = ${clubId} AND (${wholeClub}::boolean OR agent.id = ANY (${agentIds}::uuid[]))
     UNION SELECT lesson_id FROM agent_sources
            WHERE ${wholeClub}::boolean AND club_id = ${clubId} AND lesson_id IS NOT NULL`,
  media: ({ clubId, agentIds, wholeClub }) => sql`
    SELECT material.media_id AS id FROM agents agent JOIN agent_materials material ON material.agent_id = agent.id
     WHERE agent.club_id = ${clubId} AND (${wholeClub}::boolean OR agent.id = ANY (${agentIds}::uuid[]))
       AND material.media_id IS NOT NULL
     UNION SELECT media_id FROM agent_sources
            WHERE ${wholeClub}::boolean AND club_id = ${clubId} AND media_id IS NOT NULL`,
};

/** @returns the ids as a list, so that Postgres knows their number when it plans the next statement */
async function itemsIn(tx: Transaction, kind: SourceKind, clubId: Id, scope: SourceScope): Promise<Id[]> {
  const { lessonIds = [], courseIds = [], mediaIds = [], agentIds = [], wholeClub = false } = scope;
  const named = kind === 'lesson' ? lessonIds : mediaIds;
  const courses = kind === 'lesson' ? courseIds : [];
  if (!wholeClub && agentIds.length === 0 && courses.length === 0) return [...named];
  const rows = await tx.rows<{ id: Id }>(scopeOf[kind]({ clubId, agentIds, courseIds: courses, wholeClub }));
  return [...named, ...rows.map(({ id }) => id)];
}

/**
 * Returns SQL for the ids and titles of the lessons or files. The column `wanted` says whether the index should contain the lesson or file.
 * It is false for a removed lesson, because such a lesson is not published.
 */
const itemsOf = (clubId: Id, lessonIds: readonly Id[], mediaIds: readonly Id[]) => sql`
    SELECT lesson.id AS lesson_id, NULL::uuid AS media_id, lesson.title,
           lesson.published_at IS NOT NULL AND course.status = 'published' AND (
             EXISTS (SELECT FROM agent_materials material WHERE material.lesson_id = lesson.id AND ${ofLivingAgent})
             OR EXISTS (SELECT FROM agent_materials material WHERE material.course_id = course.id AND ${ofLivingAgent})) AS wanted
      FROM lessons lesson JOIN courses course ON course.id = lesson.course_id
     WHERE lesson.id = ANY (${lessonIds}::uuid[]) AND lesson.club_id = ${clubId}
     UNION ALL
    SELECT NULL, file.id, file.title,
           file.purpose = 'library' AND file.external_id IS NULL AND file.status = 'ready' AND NOT file.archived AND file.removed_at IS NULL AND
             EXISTS (SELECT FROM agent_materials material WHERE material.media_id = file.id AND ${ofLivingAgent}) AS wanted
      FROM media file
     WHERE file.id = ANY (${mediaIds}::uuid[]) AND file.club_id = ${clubId}`;

/** @returns the sources that must now be read or removed */
async function syncItems(
  tx: Transaction,
  clubId: Id,
  { lessonIds, mediaIds }: { lessonIds: readonly Id[]; mediaIds: readonly Id[] },
  contentChanged: boolean,
  now: Date,
): Promise<Id[]> {
  const rows = await tx.rows<{ raised: Id | null; lesson: Id | null; media: Id | null; title: string }>(
    sql`WITH item AS MATERIALIZED (${itemsOf(clubId, lessonIds, mediaIds)}),
     -- Sorts lessons and files together by their ids, because all transactions lock them in this order.
     concerned AS MATERIALIZED (
       SELECT source.id, item.title, item.wanted
         FROM agent_sources source JOIN item ON coalesce(item.lesson_id, item.media_id) = coalesce(source.lesson_id, source.media_id)
        WHERE (source.lesson_id = ANY (${lessonIds}) OR source.media_id = ANY (${mediaIds}))
          AND (NOT item.wanted OR ${contentChanged}::boolean OR source.title <> item.title)
        ORDER BY source.id FOR UPDATE OF source),
     -- Increases the wanted version of each removed source. So a worker that has claimed the source loses its claim. The run of the source
     -- then removes the rows that belong to the source.
     gone AS (
       UPDATE agent_sources source SET removed_at = ${now}, lesson_id = NULL, media_id = NULL, ${wantedAnew(now)}
         FROM concerned WHERE source.id = concerned.id AND NOT concerned.wanted RETURNING source.id),
     raised AS (
       UPDATE agent_sources source SET title = concerned.title, ${wantedAnew(now)}
         FROM concerned WHERE source.id = concerned.id AND concerned.wanted RETURNING source.id)
     SELECT id AS raised, NULL::uuid AS lesson, NULL::uuid AS media, '' AS title FROM (TABLE raised UNION ALL TABLE gone) AS either
      UNION ALL
     SELECT NULL, lesson_id, media_id, title FROM item
      WHERE wanted AND NOT EXISTS (SELECT FROM agent_sources source WHERE source.lesson_id = item.lesson_id)
        AND NOT EXISTS (SELECT FROM agent_sources source WHERE source.media_id = item.media_id)`,
  );
  const missing = rows.flatMap((row) => (row.raised === null ? [{ ...row, id: newId() }] : []));
  if (missing.length > 0)
    await tx.run(sql`INSERT INTO agent_sources (id, club_id, kind, lesson_id, media_id, title, looks_at, created_at, updated_at)
       SELECT source.id, ${clubId}, CASE WHEN source.media_id IS NULL THEN 'lesson' ELSE 'media' END, source.lesson_id, source.media_id,
              source.title, ${now}, ${now}, ${now}
         FROM unnest(${missing.map(({ id }) => id)}::uuid[], ${missing.map(({ lesson }) => lesson)}::uuid[], ${missing.map(({ media }) => media)}::uuid[], ${missing.map(({ title }) => title)}::text[]) AS source (id, lesson_id, media_id, title)`);
  return [...rows.flatMap(({ raised }) => (raised === null ? [] : [raised])), ...missing.map(({ id }) => id)];
}
