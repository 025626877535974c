/** Lists agents for a student: the published agents that the student has access to now. */
import { Agent } from '../../../entities/agents/agent.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { hasAccessToAgent } from '../../access/enrollments/entitlement.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';

const agentColumns = columns(
  Agent,
  { id: 'id', public_id: 'publicId', name: 'name', description: 'description' },
  'agent',
);

/** @returns a page of the agents that the student can ask, newest first */
export async function listOwnAgents(
  db: Queries,
  { clubId, id: studentId }: { clubId: Id; id: Id },
  page: PageRequest,
  now: Date,
): Promise<Page<RecordOf<'ClassroomAgent'>>> {
  return listPage(db, page, {
    columns: agentColumns,
    from: sql`FROM agents agent
      WHERE agent.club_id = ${clubId} AND agent.status = 'published' AND ${hasAccessToAgent(sql`agent.id`, studentId, now)}`,
    orderBy: newestFirst('agent'),
  });
}
