/** Ends the answers that agents of a club generate while the club is erased. */
import { AgentAnswer } from '../../entities/agents/agent-answer.ts';
import { wake } from '../../platform/engine/wakes.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../questions.ts';
import type { AnswerError } from './agents.policy.ts';

const answersPerBatch = 500;
const errorCode: AnswerError = 'conversation_deleted';

/** The worker of an answer sees the end, stops the model's stream and settles the cost. */
export const closeAgents: CloseClub = ({ db }, clubId, now) =>
  db.transaction(async (tx) => {
    const ended = await tx.rows<Pick<AgentAnswer, 'questionId' | 'clubId' | 'agentId'>>(
      sql`UPDATE agent_answers SET status = 'failed', error_code = ${errorCode}, completed_at = ${now}
           WHERE id IN (SELECT id FROM agent_answers WHERE club_id = ${clubId} AND status = 'generating'
                         ORDER BY id LIMIT ${answersPerBatch} FOR NO KEY UPDATE)
          RETURNING ${columns(AgentAnswer, ['questionId', 'clubId', 'agentId'])}`,
    );
    await wake(tx, 'agentAnswer', ended, now);
    return { more: ended.length === answersPerBatch };
  });
