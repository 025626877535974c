/** Selects a club's plan and add-ons for a resource, such as students, and computes the club's limit from them. */
import type { AddOnKind, PlanName, Resource } from '../../entities/billing/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import { plans, type Allowance } from './plans.policy.ts';

/**
 * Returns SQL for the plan of a club. If no event of billing has set a plan, the result is the plan with which the club was opened
 * (DEC-20).
 */
export const planOf = (clubId: Id | Sql) =>
  sql`(SELECT coalesce((SELECT plan FROM club_plans WHERE club_id = ${clubId}), (SELECT opening_plan FROM clubs WHERE id = ${clubId})))`;

export interface Terms {
  plan: PlanName | null;
  /** In the resource's unit. Postgres returns a sum as text. */
  bought: string;
}

/** @param kind SQL for the sum of permanent add-ons. Add-ons of the AI budget are not in this sum, because they count for one month only */
export const termsOf = (clubId: Id, kind: Exclude<AddOnKind, 'ai_budget'>): Sql =>
  sql`${planOf(clubId)} AS plan,
    (SELECT coalesce(sum(adds), 0) FROM add_ons WHERE club_id = ${clubId} AND kind = ${kind} AND status = 'active') AS bought`;

/** @returns the limit with add-ons, and whether use beyond it is billed or refused */
export function limitOf({ plan, bought }: Terms, resource: Resource): { limit: number; overage: Allowance['overage'] } {
  const { included, overage } = plans[plan ?? 'trial'].allowances[resource];
  return { limit: included + Number(bought), overage };
}
