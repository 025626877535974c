/**
 * A club's AI budget of a month in its own time zone: the worst case is reserved with each question and settled once with its
 * answer. Money in millionths of a US dollar. The row of the month is the last that a transaction locks
 * (docs/architecture.md, Locks).
 */
import { defaultPlan, plans, type PlanName } from '../billing/plans.policy.ts';
import type { Transaction } from '../core/database.ts';
import { DomainError } from '../core/errors.ts';
import type { Id } from '../core/ids.ts';

const microsACent = 10_000n;

export interface Budget {
  /** First day of the month in the club's time zone, as `2026-03-01`. */
  month: string;
  /** The plan's allowance with what was bought for the month, or what the club has set below it. */
  limitMicros: bigint;
  spentMicros: bigint;
  reservedMicros: bigint;
}

/** @returns the budget of the month that `now` is in @throws Error if there is no such club */
export async function budgetOf(tx: Transaction, clubId: Id, now: Date): Promise<Budget> {
  const [row] = await tx.query<
    { month: string; plan: PlanName | null; own: number | null; bought: string; spent: string; reserved: string }[]
  >(
    `SELECT this.month::text AS month, plan.plan, club.ai_monthly_limit AS own,
            coalesce(used.spent_micros, 0) AS spent, coalesce(used.reserved_micros, 0) AS reserved,
            (SELECT coalesce(sum(adds), 0) FROM add_ons
              WHERE club_id = club.id AND kind = 'ai_budget' AND status = 'active'
                AND date_trunc('month', settled_at AT TIME ZONE club.time_zone)::date = this.month) AS bought
       FROM clubs club
      CROSS JOIN LATERAL (SELECT date_trunc('month', $2::timestamptz AT TIME ZONE club.time_zone)::date AS month) this
       LEFT JOIN club_plans plan ON plan.club_id = club.id
       LEFT JOIN club_ai_months used ON used.club_id = club.id AND used.month = this.month
      WHERE club.id = $1`,
    [clubId, now],
  );
  if (!row) throw new Error('There is no such club');
  const allowed = plans[row.plan ?? defaultPlan].allowances.ai_budget.included + Number(row.bought);
  return {
    month: row.month,
    limitMicros: BigInt(Math.min(allowed, row.own ?? allowed)) * microsACent,
    spentMicros: BigInt(row.spent),
    reservedMicros: BigInt(row.reserved),
  };
}

/**
 * Reserves what an answer may cost at most, for the transaction that accepts its question.
 * @throws DomainError club_budget_exhausted
 */
export async function reserveBudget(
  tx: Transaction,
  { clubId, agentId, answerId, micros }: { clubId: Id; agentId: Id; answerId: Id; micros: bigint },
  now: Date,
): Promise<Budget> {
  const { month, limitMicros } = await budgetOf(tx, clubId, now);
  await tx.query(`INSERT INTO club_ai_months (club_id, month) VALUES ($1, $2) ON CONFLICT DO NOTHING`, [clubId, month]);
  // One conditional statement: two who want the last of it come one after the other.
  const [[row]] = await tx.query<[{ spent: string; reserved: string }[], number]>(
    `UPDATE club_ai_months SET reserved_micros = reserved_micros + $3
      WHERE club_id = $1 AND month = $2 AND spent_micros + reserved_micros + $3 <= $4
      RETURNING spent_micros AS spent, reserved_micros AS reserved`,
    [clubId, month, String(micros), String(limitMicros)],
  );
  if (!row)
    throw new DomainError(
      'club_budget_exhausted',
      "The club's AI budget of this month is spent. Please ask next month.",
    );
  await tx.query(
    `INSERT INTO agent_charges (answer_id, club_id, agent_id, month, reserved_micros) VALUES ($1, $2, $3, $4, $5)`,
    [answerId, clubId, agentId, month, String(micros)],
  );
  return { month, limitMicros, spentMicros: BigInt(row.spent), reservedMicros: BigInt(row.reserved) };
}

/** Settles an answer, once: whoever comes later changes nothing. The month is that of the question. */
export async function settleBudget(tx: Transaction, answerId: Id, costMicros: bigint, now: Date): Promise<void> {
  await tx.query(
    `WITH settled AS (
       UPDATE agent_charges SET cost_micros = $2, settled_at = $3 WHERE answer_id = $1 AND settled_at IS NULL
       RETURNING club_id, month, reserved_micros)
     UPDATE club_ai_months used
        SET spent_micros = spent_micros + $2, reserved_micros = used.reserved_micros - settled.reserved_micros
       FROM settled WHERE used.club_id = settled.club_id AND used.month = settled.month`,
    [answerId, String(costMicros), now],
  );
}
