/** Compares three accounts of every question: the stream that its student read, the rows in Postgres, and the calls of the model. */
import type { DataSource } from 'typeorm';
import type { SeenRequest } from '../../../../dev/fake-model/fake-model.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { Seen } from './asker.ts';

export interface AnswerTally {
  byStatus: Readonly<Record<string, number>>;
  /** Questions without a complete answer, and questions whose students did not receive the end of the answer. */
  lostAnswers: string[];
  /** The row, the log and the student have different texts of the answer. */
  torn: string[];
  /** Answers that were not charged exactly once, and budgets that differ from the sum of the charges. */
  miscounted: string[];
  /** Questions that the model began to answer more than once, because their first event was not recorded. */
  begunAgain: number;
  calls: number;
}

/** Finds the id in the question. A request to the model contains no other UUID. */
const anyUuid = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/;

interface Row {
  questionId: Id;
  status: string;
  content: string;
  log: string | null;
  callNo: number;
  charges: number;
  settled: number;
}

export async function tallyAnswers(
  source: DataSource,
  seen: readonly Seen[],
  requests: readonly SeenRequest[],
): Promise<AnswerTally> {
  const rows = await source.query<Row[]>(
    `SELECT answer.question_id AS "questionId", answer.status, answer.content, answer.call_no AS "callNo",
            (SELECT string_agg(text, '' ORDER BY starts_at) FROM agent_answer_deltas WHERE answer_id = answer.id) AS log,
            (SELECT count(*)::int FROM agent_charges WHERE answer_id = answer.id) AS charges,
            (SELECT count(*)::int FROM agent_charges WHERE answer_id = answer.id AND settled_at IS NOT NULL) AS settled
       FROM agent_answers answer`,
  );
  const byQuestion = new Map(rows.map((row) => [row.questionId, row]));
  const beginningsByQuestion = new Map<string, number>();
  for (const request of requests) {
    const questionId = anyUuid.exec(JSON.stringify(request.body))?.[0];
    if (questionId && request.events > 0)
      beginningsByQuestion.set(questionId, (beginningsByQuestion.get(questionId) ?? 0) + 1);
  }
  const lostAnswers: string[] = [];
  const torn: string[] = [];
  const miscounted: string[] = [];
  for (const { questionId, received, final } of seen) {
    const row = byQuestion.get(questionId);
    if (!row || row.status === 'generating') lostAnswers.push(`${questionId} ${row?.status ?? 'was never accepted'}`);
    else if (final === undefined) lostAnswers.push(`${questionId} ${row.status}, unseen`);
    else if (received !== row.content || final !== row.content) torn.push(`${questionId} at its student`);
    if (row && row.log !== null && row.log !== row.content) torn.push(`${questionId} in its log`);
    if (row && (row.charges !== 1 || row.settled !== 1)) miscounted.push(`${questionId} settled ${row.settled} times`);
  }
  if (rows.length !== seen.length) miscounted.push(`${rows.length} answers for ${seen.length} questions`);
  const [month] = await source.query<{ right: boolean }[]>(
    `SELECT (SELECT sum(reserved_micros) FROM club_ai_months) = 0
        AND (SELECT sum(spent_micros) FROM club_ai_months) = (SELECT sum(cost_micros) FROM agent_charges)
        AND (SELECT sum(questions) FROM agent_months) = $1
        AND (SELECT sum(complete + truncated + refused + failed) FROM agent_months) = $1 AS right`,
    [rows.length],
  );
  if (!month?.right) miscounted.push('the counts of the month are not the sums of its answers');
  const statuses = rows.map(({ status }) => status);
  return {
    byStatus: Object.fromEntries([...new Set(statuses)].map((one) => [one, statuses.filter((s) => s === one).length])),
    lostAnswers,
    torn,
    miscounted,
    begunAgain: [...beginningsByQuestion.values()].filter((count) => count > 1).length,
    calls: requests.length,
  };
}
