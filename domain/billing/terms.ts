/** What a club's plan and add-ons say of a resource, for statements and for what follows from them. */
import type { AddOnKind, PlanName, Resource } from '../../entities/billing/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import { plans, type Allowance } from './plans.policy.ts';

/** The plan of a club: what billing says, and until then the one that it opened with (DEC-20). */
export const planOf = (clubId: Id | Sql) =>
  sql`(SELECT coalesce((SELECT plan FROM club_plans WHERE club_id = ${clubId}), (SELECT opening_plan FROM clubs WHERE id = ${clubId})))`;

/** What a club's plan and add-ons say of a resource, as {@link termsOf} selects it. */
export interface Terms {
  plan: PlanName | null;
  /** What active add-ons add, in the resource's unit, as Postgres gives a sum. */
  bought: string;
}

/** The columns of {@link Terms}. @param kind of add-ons that stay: those of the AI budget count for a month only */
export const termsOf = (clubId: Id, kind: Exclude<AddOnKind, 'ai_budget'>): Sql =>
  sql`${planOf(clubId)} AS plan,
    (SELECT coalesce(sum(adds), 0) FROM add_ons WHERE club_id = ${clubId} AND kind = ${kind} AND status = 'active') AS bought`;

/** @returns how much of the resource the terms allow, add-ons included, and what happens beyond it */
export function limitOf({ plan, bought }: Terms, resource: Resource): { limit: number; overage: Allowance['overage'] } {
  const { included, overage } = plans[plan ?? 'trial'].allowances[resource];
  return { limit: included + Number(bought), overage };
}
