/** Where a file of the library is used: the agents that answer from it. */
import { Agent } from '../../../entities/agents/agent.ts';
import { Media } from '../../../entities/media/media.ts';
import { IsNull } from 'typeorm';
import type { RecordOf } from '../../../contract/contract.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';

/** @returns a page of the places that name the file, by name @throws DomainError not_found (file of the library) */
export async function listMediaUsage(
  db: Queries,
  clubId: Id,
  mediaId: Id,
  request: PageRequest,
): Promise<Page<RecordOf<'MediaUse'>>> {
  const isThere = await db.manager.existsBy(Media, { id: mediaId, clubId, purpose: 'library', removedAt: IsNull() });
  if (!isThere) throw notFound('file');
  const { rows, total } = await listPage(db, request, {
    columns: columns(Agent, ['id', 'name']),
    from: sql`FROM agents WHERE id IN (SELECT agent_id FROM agent_materials WHERE media_id = ${mediaId})`,
    orderBy: sql`name, id`,
  });
  return { rows: rows.map(({ id, name }) => ({ kind: 'agent', id, name })), total };
}
