/** Agents as a student finds them: published ones that they have access to now. */
import type { RecordOf } from '../../../contract/contract.ts';
import { hasAccessToAgent } from '../../access/enrollments/entitlement.ts';
import type { Transaction } from '../../../platform/infra/postgres/transaction.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { windowOf, type Listed, type Page } from '../../../platform/infra/postgres/lists/page.ts';

/** @returns a page of the agents that the student can ask, newest first */
export async function listOwnAgents(
  tx: Transaction,
  { clubId, id: studentId }: { clubId: Id; id: Id },
  page: Page,
  now: Date,
): Promise<Listed<RecordOf<'ClassroomAgent'>>> {
  const { limit, offset } = windowOf(page);
  const where = `agent.club_id = $1 AND agent.status = 'published'
    AND ${hasAccessToAgent({ agent: 'agent.id', student: '$2', now: '$3' })}`;
  const parameters = [clubId, studentId, now];
  const [counted] = await tx.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM agents agent WHERE ${where}`,
    parameters,
  );
  const rows = await tx.query<RecordOf<'ClassroomAgent'>[]>(
    `SELECT agent.id, agent.public_id, agent.name, agent.description FROM agents agent
      WHERE ${where} ORDER BY agent.created_at DESC, agent.id DESC LIMIT ${limit} OFFSET ${offset}`,
    parameters,
  );
  return { rows, total: counted?.total ?? 0 };
}
