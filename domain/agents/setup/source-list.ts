/** What an agent's material comes to in the club's index, as administrators see it, and asking for an indexing once more. */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { requireAgent } from './agents.ts';
import type { SourceKind, SourceStatus } from '../../../entities/agents/values.ts';
import { wakeSources, wantedAnew } from '../../knowledge/sources.ts';

type Source = RecordOf<'AgentSource'>;

interface SourceRow {
  id: Id;
  kind: SourceKind;
  lessonId: Id | null;
  mediaId: Id | null;
  title: string;
  status: SourceStatus;
  errorCode: string | null;
  pageCount: number | null;
  passageCount: number;
  indexedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

const columns = `id, kind, lesson_id AS "lessonId", media_id AS "mediaId", title, status, error_code AS "errorCode",
  page_count AS "pageCount", passage_count AS "passageCount", indexed_at AS "indexedAt", created_at AS "createdAt",
  updated_at AS "updatedAt"`;

/**
 * The ids of the sources that an agent answers from.
 * @param agent an SQL expression, such as `$1`
 */
function sourcesOfAgent(agent: string): string {
  return `
    SELECT source.id FROM agent_materials material JOIN agent_sources source ON source.lesson_id = material.lesson_id
     WHERE material.agent_id = ${agent}
     UNION
    SELECT source.id FROM agent_materials material JOIN agent_sources source ON source.media_id = material.media_id
     WHERE material.agent_id = ${agent}
     UNION
    SELECT source.id FROM agent_materials material JOIN lessons lesson ON lesson.course_id = material.course_id
      JOIN agent_sources source ON source.lesson_id = lesson.id
     WHERE material.agent_id = ${agent}`;
}

/** @returns a page of them, newest first @throws DomainError not_found (agent) */
export async function listSources(
  db: Queries,
  clubId: Id,
  agentId: Id,
  filter: PageRequest & { status?: SourceStatus },
): Promise<Page<Source>> {
  await requireAgent(db, clubId, agentId);
  const { limit, offset } = windowOf(filter);
  const where = `id IN (${sourcesOfAgent('$1')}) AND ($2::text IS NULL OR status = $2)`;
  const parameters = [agentId, filter.status ?? null];
  const [counted] = await db.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM agent_sources WHERE ${where}`,
    parameters,
  );
  const rows = await db.query<SourceRow[]>(
    `SELECT ${columns} FROM agent_sources WHERE ${where}
      ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`,
    parameters,
  );
  return { rows: rows.map(presentSource), total: counted?.total ?? 0 };
}

/** Has a source read anew; until then what was indexed before is found. @throws DomainError not_found (agent, or a source that is none of its) */
export async function reindexSource(
  { db }: DatabaseDeps,
  clubId: Id,
  agentId: Id,
  sourceId: Id,
  now: Date,
): Promise<Source> {
  return db.transaction(async (tx) => {
    await requireAgent(tx, clubId, agentId);
    const [[row]] = await tx.query<[SourceRow[], number]>(
      `UPDATE agent_sources SET ${wantedAnew} WHERE id = $2 AND id IN (${sourcesOfAgent('$3')}) RETURNING ${columns}`,
      [now, sourceId, agentId],
    );
    if (!row) throw notFound('source');
    await wakeSources(tx, clubId, [sourceId], now);
    return presentSource(row);
  });
}

function presentSource(row: SourceRow): Source {
  return {
    id: row.id,
    kind: row.kind,
    ...(row.lessonId !== null && { lesson_id: row.lessonId }),
    ...(row.mediaId !== null && { media_id: row.mediaId }),
    title: row.title,
    status: row.status,
    ...(row.errorCode !== null && { error_code: row.errorCode }),
    ...(row.pageCount !== null && { page_count: row.pageCount }),
    passage_count: row.passageCount,
    ...(row.indexedAt !== null && { indexed_at: row.indexedAt.toISOString() }),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}
