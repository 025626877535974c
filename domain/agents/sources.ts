/**
 * The club's index follows its material: a row of `agent_sources` for each lesson and file that the material of an agent names,
 * while it is visible, and none for any other. Whoever changes what decides that calls `syncSources` in the same transaction.
 */
import type { Transaction } from '../core/database.ts';
import { newId, type Id } from '../core/ids.ts';
import { wake, type NewWake } from '../facts/facts.ts';
import type { SourceKind } from './agents.policy.ts';

/** What a change is about: the lessons and files that may have come, gone or changed with it. */
export interface SourceScope {
  lessonIds?: readonly Id[];
  /** All lessons of these. */
  courseIds?: readonly Id[];
  mediaIds?: readonly Id[];
  /** All that the material of these names. */
  agentIds?: readonly Id[];
  /** All that stands in the index or should. */
  wholeClub?: boolean;
  /** Whether what they say is another now, so that what stays in the index is read anew. A changed title is seen here. */
  contentChanged?: boolean;
}

/** Makes the workflow of a source look. */
export function sourceWake(clubId: Id, sourceId: Id): NewWake {
  return { workflowType: 'sourceIndex', subjectId: sourceId, clubId, attributes: { ClubId: clubId } };
}

/**
 * Brings the index in step with the club's material as it is now: what is wanted and missing is added, what is not wanted goes
 * (with its passages; citations keep their words), what has changed is wanted anew.
 *
 * The club's row is held from here to the end of the transaction, so that of two changes that meet the later sees both. It comes
 * after the rows of agents, courses, lessons and media, and before those of sources (docs/architecture.md, Locks): call this
 * when everything else of the change is written.
 */
export async function syncSources(tx: Transaction, clubId: Id, scope: SourceScope, now: Date): Promise<void> {
  await tx.query(`SELECT 1 FROM clubs WHERE id = $1 FOR NO KEY UPDATE`, [clubId]);
  const { lessonIds = [], courseIds = [], mediaIds = [], agentIds = [], wholeClub = false } = scope;
  const everything = wholeClub || agentIds.length > 0;
  const changed: Id[] = [];
  if (everything || lessonIds.length > 0 || courseIds.length > 0)
    changed.push(...(await syncKind(tx, 'lesson', clubId, scope, now)));
  if (everything || mediaIds.length > 0) changed.push(...(await syncKind(tx, 'media', clubId, scope, now)));
  await wakeSources(tx, clubId, changed, now);
}

/** Of a wake's statement: a club's whole index is woken in several. */
const wakesAStatement = 1_000;

/** Makes the workflows of these sources look. */
export async function wakeSources(tx: Transaction, clubId: Id, sourceIds: readonly Id[], now: Date): Promise<void> {
  // Sorted before it is cut: two who wake the same sources take them in one order.
  const wakes = sourceIds.toSorted().map((id) => sourceWake(clubId, id));
  for (let from = 0; from < wakes.length; from += wakesAStatement)
    await wake(tx, wakes.slice(from, from + wakesAStatement), now);
}

/** What sets a source back to its beginning; its passages serve until others take their place. `$1` is the time. */
export const wantedAnew = `wanted_version = wanted_version + 1, status = 'pending', error_code = NULL, attempts = 0,
  looks_at = $1, updated_at = $1`;

/** Of `agent_materials material`. */
const ofLivingAgent = `EXISTS (SELECT FROM agents agent WHERE agent.id = material.agent_id AND agent.status <> 'archived')`;

/** Agents whose material is in the scope. */
const agentsInScope = `SELECT id FROM agents WHERE club_id = $2 AND ($5::boolean OR id = ANY ($4::uuid[]))`;

/**
 * The lessons or files of a scope: `id`, `title`, and whether each is `wanted`. `$2` is the club, `$3` ids of them, `$4` agents,
 * `$5` whether it is the whole club, `$7` courses.
 */
const itemsOf: Record<SourceKind, string> = {
  lesson: `
    SELECT lesson.id, lesson.title,
           lesson.published_at IS NOT NULL AND lesson.removed_at IS NULL AND course.status = 'published' AND (
             EXISTS (SELECT FROM agent_materials material WHERE material.lesson_id = lesson.id AND ${ofLivingAgent})
             OR EXISTS (SELECT FROM agent_materials material WHERE material.course_id = course.id AND ${ofLivingAgent})) AS wanted
      FROM lessons lesson JOIN courses course ON course.id = lesson.course_id
     WHERE lesson.club_id = $2 AND lesson.id IN (
       SELECT unnest($3::uuid[])
       UNION SELECT id FROM lessons WHERE course_id = ANY ($7::uuid[])
       UNION SELECT lesson_id FROM agent_materials WHERE agent_id IN (${agentsInScope})
       UNION SELECT named.id FROM agent_materials material JOIN lessons named ON named.course_id = material.course_id
              WHERE material.agent_id IN (${agentsInScope})
       UNION SELECT lesson_id FROM agent_sources WHERE $5 AND club_id = $2)`,
  media: `
    SELECT file.id, file.title,
           file.purpose = 'library' AND file.status = 'ready' AND NOT file.archived AND file.removed_at IS NULL AND
             EXISTS (SELECT FROM agent_materials material WHERE material.media_id = file.id AND ${ofLivingAgent}) AS wanted
      FROM media file
     WHERE file.club_id = $2 AND file.id IN (
       SELECT unnest($3::uuid[])
       UNION SELECT media_id FROM agent_materials WHERE agent_id IN (${agentsInScope})
       UNION SELECT media_id FROM agent_sources WHERE $5 AND club_id = $2)`,
};

/** @returns the sources that have something to be read now */
async function syncKind(tx: Transaction, kind: SourceKind, clubId: Id, scope: SourceScope, now: Date): Promise<Id[]> {
  const column = `${kind}_id`;
  const rows = await tx.query<{ raised: Id | null; missing: Id | null; title: string }[]>(
    `WITH item AS MATERIALIZED (${itemsOf[kind]}),
     -- In the order of their ids, like everybody who holds several.
     concerned AS MATERIALIZED (
       SELECT source.id, item.title, item.wanted FROM agent_sources source JOIN item ON item.id = source.${column}
        WHERE NOT item.wanted OR $6::boolean OR source.title <> item.title
        ORDER BY source.id FOR UPDATE OF source),
     gone AS (
       DELETE FROM agent_sources source USING concerned WHERE source.id = concerned.id AND NOT concerned.wanted),
     raised AS (
       UPDATE agent_sources source SET title = concerned.title, ${wantedAnew}
         FROM concerned WHERE source.id = concerned.id AND concerned.wanted RETURNING source.id)
     SELECT id AS raised, NULL::uuid AS missing, '' AS title FROM raised
      UNION ALL
     SELECT NULL, id, title FROM item
      WHERE wanted AND NOT EXISTS (SELECT FROM agent_sources source WHERE source.${column} = item.id)`,
    [
      now,
      clubId,
      (kind === 'lesson' ? scope.lessonIds : scope.mediaIds) ?? [],
      scope.agentIds ?? [],
      scope.wholeClub ?? false,
      scope.contentChanged ?? false,
      ...(kind === 'lesson' ? [scope.courseIds ?? []] : []),
    ],
  );
  const missing = rows.flatMap((row) => (row.missing === null ? [] : [{ ...row, id: newId() }]));
  if (missing.length > 0)
    await tx.query(
      `INSERT INTO agent_sources (id, club_id, kind, ${column}, title, looks_at, created_at, updated_at)
       SELECT source.id, $4, $5, source.item, source.title, $6, $6, $6
         FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS source (id, item, title)`,
      [
        missing.map(({ id }) => id),
        missing.map((row) => row.missing),
        missing.map(({ title }) => title),
        clubId,
        kind,
        now,
      ],
    );
  return [...rows.flatMap(({ raised }) => (raised === null ? [] : [raised])), ...missing.map(({ id }) => id)];
}
