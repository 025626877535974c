/** What the sweeper does: finds rows that nobody is working on although they are due, and removes what has run out. */
import type { DataSource } from 'typeorm';
import { foldAnswerLogs } from '../../domain/agents/answers/answer-logs.ts';
import { answerWake } from '../../domain/agents/answers/answer-wakes.ts';
import { importWake } from '../../domain/access/imports/imports.ts';
import { sourceWake } from '../../domain/knowledge/sources.ts';
import { inTransaction, type Database } from '../infra/postgres/transaction.ts';
import type { Id } from '../core/ids.ts';
import { subscriptionEndWake } from '../../domain/access/enrollments/rows.ts';
import { noticeWake } from '../../domain/sales/notices/notices.ts';
import { addOnWake } from '../../domain/billing/settling.ts';
import { columnsToWake, deliveryWake, gateWake, type DeliveryToWake } from '../../domain/webhooks/wakes.ts';
import { wake, type NewWake } from './facts.ts';
import { workflowIdOf } from './workflow-types.ts';

/** A row overdue by this, without a living lease, has lost its workflow, unless there is more due than the workers carry. */
const overdueMs = 2 * 60_000;
/** Rows a round, so that a server which forgot everything is brought back in steps, not in one wave. */
const rescuedARound = 500;
/** Rows of a table removed a round. */
const removedARound = 1_000;
/** How long a sent mail's row is kept. */
const mailHistoryMs = 30 * 86_400_000;

/** Wakes workflows whose rows are overdue. @returns how many: 0 in normal life, an alert hangs on it */
export async function rescueOverdue(database: Database, now: Date): Promise<number> {
  const overdue = new Date(now.getTime() - overdueMs);
  return inTransaction(database, async (tx) => {
    const deliveries = await tx.query<DeliveryToWake[]>(
      `SELECT ${columnsToWake()} FROM webhook_deliveries
        WHERE parked_at IS NULL AND (status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL)
          AND next_attempt_at < $1 AND (lease_until IS NULL OR lease_until < clock_timestamp())
          AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = $3 || webhook_deliveries.id)
        ORDER BY next_attempt_at LIMIT $2`,
      [overdue, rescuedARound, workflowIdOf('webhookDelivery', '')],
    );
    const gates = await tx.query<{ endpointId: Id; clubId: Id }[]>(
      `SELECT id AS "endpointId", club_id AS "clubId" FROM webhook_endpoints
        WHERE gate_looks_at < $1 AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = $3 || webhook_endpoints.id)
        ORDER BY gate_looks_at LIMIT $2`,
      [overdue, rescuedARound, workflowIdOf('endpointGate', '')],
    );
    const mails = await tx.query<{ id: Id; clubId: Id | null }[]>(
      `SELECT id, club_id AS "clubId" FROM transactional_mails
        WHERE status = 'pending' AND next_attempt_at < $1 AND (lease_until IS NULL OR lease_until < clock_timestamp())
          AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = $3 || transactional_mails.id)
        ORDER BY next_attempt_at LIMIT $2`,
      [overdue, rescuedARound, workflowIdOf('transactionalMail', '')],
    );
    const notices = await tx.query<{ id: Id; clubId: Id }[]>(
      `SELECT id, club_id AS "clubId" FROM sales_notices
        WHERE status = 'pending' AND next_attempt_at < $1 AND (lease_until IS NULL OR lease_until < clock_timestamp())
          AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = $3 || sales_notices.id)
        ORDER BY next_attempt_at LIMIT $2`,
      [overdue, rescuedARound, workflowIdOf('salesNotice', '')],
    );
    const ends = await tx.query<{ id: Id; clubId: Id }[]>(
      `SELECT id, club_id AS "clubId" FROM subscriptions
        WHERE end_looks_at < $1 AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = $3 || subscriptions.id)
        ORDER BY end_looks_at LIMIT $2`,
      [overdue, rescuedARound, workflowIdOf('subscriptionEnd', '')],
    );
    const imports = await tx.query<{ id: Id; clubId: Id }[]>(
      `SELECT id, club_id AS "clubId" FROM student_imports
        WHERE looks_at < $1 AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = $3 || student_imports.id)
        ORDER BY looks_at LIMIT $2`,
      [overdue, rescuedARound, workflowIdOf('studentImport', '')],
    );
    const unsettled = await tx.query<{ id: Id; clubId: Id }[]>(
      `SELECT id, club_id AS "clubId" FROM add_ons
        WHERE status = 'pending' AND next_attempt_at < $1 AND (lease_until IS NULL OR lease_until < clock_timestamp())
          AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = $3 || add_ons.id)
        ORDER BY next_attempt_at LIMIT $2`,
      [overdue, rescuedARound, workflowIdOf('addOn', '')],
    );
    const answers = await tx.query<{ questionId: Id; clubId: Id; agentId: Id }[]>(
      `SELECT question_id AS "questionId", club_id AS "clubId", agent_id AS "agentId" FROM agent_answers
        WHERE status = 'generating' AND looks_at < $1 AND (lease_until IS NULL OR lease_until < clock_timestamp())
          AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = $3 || agent_answers.question_id)
        ORDER BY looks_at LIMIT $2`,
      [overdue, rescuedARound, workflowIdOf('agentAnswer', '')],
    );
    // Whoever erases a conversation ends its answers, and leaves what they have cost to their runs.
    const unsettledAnswers = await tx.query<{ questionId: Id; clubId: Id; agentId: Id }[]>(
      `SELECT answer.question_id AS "questionId", answer.club_id AS "clubId", answer.agent_id AS "agentId"
         FROM agent_charges charge JOIN agent_answers answer ON answer.id = charge.answer_id
        WHERE charge.settled_at IS NULL AND answer.completed_at < $1
          AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = $3 || answer.question_id)
        ORDER BY answer.completed_at LIMIT $2`,
      [overdue, rescuedARound, workflowIdOf('agentAnswer', '')],
    );
    const sources = await tx.query<{ id: Id; clubId: Id }[]>(
      `SELECT id, club_id AS "clubId" FROM agent_sources
        WHERE looks_at < $1 AND (lease_until IS NULL OR lease_until < clock_timestamp())
          AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = $3 || agent_sources.id)
        ORDER BY looks_at LIMIT $2`,
      [overdue, rescuedARound, workflowIdOf('sourceIndex', '')],
    );
    const wakes: NewWake[] = [
      ...[...answers, ...unsettledAnswers].map(answerWake),
      ...sources.map(({ id, clubId }) => sourceWake(clubId, id)),
      ...imports.map(importWake),
      ...unsettled.map(addOnWake),
      ...deliveries.map(deliveryWake),
      ...gates.map(gateWake),
      ...notices.map(({ id, clubId }) => noticeWake(id, clubId)),
      ...ends.map(({ id, clubId }) => subscriptionEndWake(clubId, id)),
      ...mails.map(({ id, clubId }) => ({
        workflowType: 'transactionalMail' as const,
        subjectId: id,
        clubId,
        attributes: clubId === null ? {} : { ClubId: clubId },
      })),
    ];
    await wake(tx, wakes, now);
    return wakes.length;
  });
}

/** Rows whose time is over: none of them is good for anything any more. */
const expiries = [
  { table: 'student_sessions', key: 'token_hash', condition: 'expires_at < $1', ageMs: 0 },
  { table: 'administrator_sessions', key: 'token_hash', condition: 'expires_at < $1', ageMs: 0 },
  { table: 'one_time_tokens', key: 'id', condition: 'expires_at < $1', ageMs: 0 },
  { table: 'invitations', key: 'id', condition: 'expires_at < $1', ageMs: 0 },
  {
    table: 'transactional_mails',
    key: 'id',
    condition: `status <> 'pending' AND created_at < $1`,
    ageMs: mailHistoryMs,
  },
] as const;

/** Removes sessions, tokens, invitations, old mail rows and the logs of answers that have ended, a batch of each. */
export async function removeExpired(source: DataSource, now: Date): Promise<void> {
  for (const { table, key, condition, ageMs } of expiries) {
    await source.query(
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ${removedARound})`,
      [new Date(now.getTime() - ageMs)],
    );
  }
  await foldAnswerLogs(source, now);
}
