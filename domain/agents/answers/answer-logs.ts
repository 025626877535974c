/**
 * Deletes the logs of answers that ended some time ago. Their content has all words, and readers of the stream do not reconnect any more.
 */
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { answerRules } from './answers.policy.ts';

/** Answers per round. */
const deletedPerRound = 500;

export async function deleteEndedAnswerLogs(db: Queries, now: Date): Promise<number> {
  const endedBefore = new Date(now.getTime() - answerRules.logMs);
  return db.run(
    sql`WITH ended AS (
          SELECT id FROM agent_answers WHERE log_folded_at IS NULL AND completed_at < ${endedBefore}
           ORDER BY completed_at LIMIT ${deletedPerRound} FOR NO KEY UPDATE SKIP LOCKED),
        removed AS (DELETE FROM agent_answer_deltas USING ended WHERE answer_id = ended.id)
        UPDATE agent_answers SET log_folded_at = ${now} FROM ended WHERE agent_answers.id = ended.id`,
  );
}
