/** Lists the sources in the club's index that come from an agent's material, and requests a new indexing of a source. */
import { AgentSource } from '../../../entities/knowledge/agent-source.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { all, columns, sql, type RowOf, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { requireAgent } from './agents.ts';
import type { SourceStatus, SourceWarningCode } from '../../../entities/knowledge/values.ts';
import { wakeSources, wantedAnew } from '../../knowledge/sources.ts';

type Source = RecordOf<'AgentSource'>;

const sourceColumns = columns(AgentSource, [
  'id',
  'kind',
  'lessonId',
  'mediaId',
  'title',
  'status',
  'errorCode',
  'pageCount',
  'passageCount',
  'warnings',
  'indexedAt',
  'createdAt',
  'updatedAt',
]);
type SourceRow = RowOf<typeof sourceColumns>;

function sourcesOfAgent(agentId: Id): Sql {
  return sql`
    SELECT source.id FROM agent_materials material JOIN agent_sources source ON source.lesson_id = material.lesson_id
     WHERE material.agent_id = ${agentId}
     UNION
    SELECT source.id FROM agent_materials material JOIN agent_sources source ON source.media_id = material.media_id
     WHERE material.agent_id = ${agentId}
     UNION
    SELECT source.id FROM agent_materials material JOIN lessons lesson ON lesson.course_id = material.course_id
      JOIN agent_sources source ON source.lesson_id = lesson.id
     WHERE material.agent_id = ${agentId}`;
}

function hasWarning(code: SourceWarningCode | 'any'): Sql {
  return code === 'any'
    ? sql`warnings <> '[]'`
    : sql`warnings @> jsonb_build_array(jsonb_build_object('code', ${code}::text))`;
}

/** @returns a page of sources, newest first @throws DomainError not_found (no such agent) */
export async function listSources(
  db: Queries,
  clubId: Id,
  agentId: Id,
  filter: PageRequest & { status?: SourceStatus; warning?: SourceWarningCode | 'any' },
): Promise<Page<Source>> {
  await requireAgent(db, clubId, agentId);
  const { rows, total, next } = await listPage(db, filter, {
    columns: sourceColumns,
    from: sql`FROM agent_sources WHERE ${all([
      sql`id IN (${sourcesOfAgent(agentId)})`,
      filter.status === undefined ? undefined : sql`status = ${filter.status}`,
      filter.warning === undefined ? undefined : hasWarning(filter.warning),
    ])}`,
    orderBy: newestFirst(),
  });
  return { rows: rows.map(presentSource), total, next };
}

/**
 * Requests a new indexing of a source. Until the new indexing ends, searches find the old passages.
 * @throws DomainError not_found (no such agent, or a source outside the agent's material)
 */
export async function reindexSource(
  { db }: DatabaseDeps,
  clubId: Id,
  agentId: Id,
  sourceId: Id,
  now: Date,
): Promise<Source> {
  return db.transaction(async (tx) => {
    await requireAgent(tx, clubId, agentId);
    const row = await tx.one<SourceRow>(
      sql`UPDATE agent_sources SET ${wantedAnew(now)} WHERE id = ${sourceId} AND id IN (${sourcesOfAgent(agentId)})
          RETURNING ${sourceColumns}`,
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
    warnings: row.warnings,
    ...(row.indexedAt !== null && { indexed_at: row.indexedAt.toISOString() }),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}
