/**
 * Manages a club's AI budget of each month, in the club's time zone. An accepted question reserves the highest possible cost of its answer,
 * and the real cost replaces this reserve when the answer has ended. Amounts are millionths of a US dollar. A transaction locks the month's
 * row after all other rows (ENG-6, docs/explanation/architecture.md#locks).
 */
import { AgentCharge } from '../../../entities/agents/agent-charge.ts';
import type { PlanName } from '../../../entities/billing/values.ts';
import { isIn, readClubMonth } from '../../billing/club-month.ts';
import { plans } from '../../billing/plans.policy.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

const microsACent = 10_000n;

export interface Budget {
  /** First day of the month in the club's time zone, as `2026-03-01`. */
  month: string;
  turnsAt: Date;
  /** The allowance of the plan, plus the month's add-ons, in cents. */
  allowed: number;
  /** The lower limit that the club has chosen, in cents. */
  own: number | null;
  limitMicros: bigint;
  spentMicros: bigint;
  reservedMicros: bigint;
}

/** @returns the budget of the month that contains `now` @throws Error if there is no such club */
export async function budgetOf(db: Queries, clubId: Id, now: Date): Promise<Budget> {
  const month = await readClubMonth(db, clubId, now);
  const row = await db.one<{
    plan: PlanName;
    own: number | null;
    bought: string;
    spent: string;
    reserved: string;
  }>(sql`SELECT coalesce(plan.plan, club.opening_plan) AS plan, club.ai_monthly_limit AS own,
            coalesce(used.spent_micros, 0) AS spent, coalesce(used.reserved_micros, 0) AS reserved,
            (SELECT coalesce(sum(adds), 0) FROM add_ons
              WHERE club_id = club.id AND kind = 'ai_budget' AND status = 'active' AND ${isIn(month, sql`settled_at`)}) AS bought
       FROM clubs club
       LEFT JOIN club_plans plan ON plan.club_id = club.id
       LEFT JOIN club_ai_months used ON used.club_id = club.id AND used.month = ${month.month}
      WHERE club.id = ${clubId}`);
  if (!row) throw new Error('There is no such club');
  const allowed = plans[row.plan].allowances.ai_budget.included + Number(row.bought);
  return {
    month: month.month,
    turnsAt: month.endsAt,
    allowed,
    own: row.own,
    limitMicros: BigInt(Math.min(allowed, row.own ?? allowed)) * microsACent,
    spentMicros: BigInt(row.spent),
    reservedMicros: BigInt(row.reserved),
  };
}

/** The reserves of running answers fill the rest of the budget. When these answers end, a part of it is free again. */
export class BudgetReserved extends Error {
  override name = 'BudgetReserved';
  code = 'budget_reserved';
}

/** @returns whether the budget is spent. If so, no student can ask a question before the next month (AGT-26) */
export function isSpent({ spentMicros, limitMicros }: Pick<Budget, 'spentMicros' | 'limitMicros'>): boolean {
  return spentMicros >= limitMicros;
}

/**
 * Reserves the possible cost of an answer in the transaction that accepts its question. Questions are accepted while the spent and reserved
 * amounts together are below the budget, so only the last answer can exceed it (ANS-5).
 * @throws DomainError club_budget_exhausted if the budget is spent
 * @throws BudgetReserved
 */
export async function reserveBudget(
  tx: Transaction,
  { clubId, agentId, answerId, micros }: { clubId: Id; agentId: Id; answerId: Id; micros: bigint },
  now: Date,
): Promise<Budget> {
  const budget = await budgetOf(tx, clubId, now);
  const { month, limitMicros } = budget;
  await tx.run(sql`INSERT INTO club_ai_months (club_id, month) VALUES (${clubId}, ${month}) ON CONFLICT DO NOTHING`);
  // The condition and the change are in one statement. So if two transactions need the rest of the budget, the second waits for the first.
  const row = await tx.one<{ spent: string; reserved: string }>(
    sql`UPDATE club_ai_months SET reserved_micros = reserved_micros + ${String(micros)}
         WHERE club_id = ${clubId} AND month = ${month} AND spent_micros + reserved_micros < ${String(limitMicros)}
         RETURNING spent_micros AS spent, reserved_micros AS reserved`,
  );
  if (!row) throw whyNotReserved(await budgetOf(tx, clubId, now));
  await tx.manager.insert(AgentCharge, { answerId, clubId, agentId, month, reservedMicros: String(micros) });
  await tx.run(sql`INSERT INTO agent_months AS used (agent_id, month, club_id, questions) VALUES (${agentId}, ${month}, ${clubId}, 1)
     ON CONFLICT (agent_id, month) DO UPDATE SET questions = used.questions + 1`);
  return { ...budget, spentMicros: BigInt(row.spent), reservedMicros: BigInt(row.reserved) };
}

function whyNotReserved(budget: Budget): Error {
  if (!isSpent(budget)) return new BudgetReserved();
  return new RefusalToPerson('club_budget_exhausted', 'refusal.ai_budget_spent');
}

/**
 * Replaces the reserve of an answer by the real cost of the answer, once, in the month of the question. Also adds the answer to the agent's
 * counts of the month. The transaction must first write the end of the answer and the end of the last call.
 */
export async function settleBudget(tx: Transaction, answerId: Id, costMicros: bigint, now: Date): Promise<void> {
  const charge = await tx.one<{
    month: string;
    reserved: string;
  }>(sql`UPDATE agent_charges SET cost_micros = ${String(costMicros)}, settled_at = ${now} WHERE answer_id = ${answerId} AND settled_at IS NULL
     RETURNING month::text AS month, reserved_micros AS reserved`);
  if (!charge) return;
  await tx.run(sql`UPDATE club_ai_months used SET spent_micros = spent_micros + ${String(costMicros)}, reserved_micros = reserved_micros - ${charge.reserved}
       FROM agent_answers answer WHERE answer.id = ${answerId} AND used.club_id = answer.club_id AND used.month = ${charge.month}`);
  await tx.run(sql`UPDATE agent_months used
        SET complete = complete + (answer.status = 'complete')::int, truncated = truncated + (answer.status = 'truncated')::int,
            refused = refused + (answer.status = 'refused')::int, failed = failed + (answer.status = 'failed')::int,
            input_tokens = used.input_tokens + coalesce(last.input_tokens, 0),
            output_tokens = used.output_tokens + coalesce(last.output_tokens, 0),
            cache_write_tokens = used.cache_write_tokens + coalesce(last.cache_write_tokens, 0),
            cache_read_tokens = used.cache_read_tokens + coalesce(last.cache_read_tokens, 0),
            cost_micros = used.cost_micros + ${String(costMicros)}
       FROM agent_answers answer
       LEFT JOIN agent_calls last
              ON last.answer_id = answer.id AND last.call_no = answer.call_no AND last.outcome IS DISTINCT FROM 'abandoned'
      WHERE answer.id = ${answerId} AND used.agent_id = answer.agent_id AND used.month = ${charge.month}`);
}
