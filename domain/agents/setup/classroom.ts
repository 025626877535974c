/** Agents as a student finds them: published ones that they have access to now. */
import type { RecordOf } from '../../../contract/contract.ts';
import { hasAccessToAgent } from '../../access/enrollments/entitlement.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';

/** @returns a page of the agents that the student can ask, newest first */
export async function listOwnAgents(
  db: Queries,
  { clubId, id: studentId }: { clubId: Id; id: Id },
  page: PageRequest,
  now: Date,
): Promise<Page<RecordOf<'ClassroomAgent'>>> {
  const { limit, offset } = windowOf(page);
  const where = `agent.club_id = $1 AND agent.status = 'published'
    AND ${hasAccessToAgent({ agent: 'agent.id', student: '$2', now: '$3' })}`;
  const parameters = [clubId, studentId, now];
  const [counted] = await db.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM agents agent WHERE ${where}`,
    parameters,
  );
  const rows = await db.query<RecordOf<'ClassroomAgent'>[]>(
    `SELECT agent.id, agent.public_id, agent.name, agent.description FROM agents agent
      WHERE ${where} ORDER BY agent.created_at DESC, agent.id DESC LIMIT ${limit} OFFSET ${offset}`,
    parameters,
  );
  return { rows, total: counted?.total ?? 0 };
}
