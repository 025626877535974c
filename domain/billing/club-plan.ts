/** Reads a club's plan for its administrators: the allowances, and how much of them is used. */
import { ClubPlan } from '../../entities/billing/club-plan.ts';
import type { RecordOf } from '../../contract/contract.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import {
  resources,
  type AddOnKind,
  type PlanName,
  type PlanStatus,
  type Resource,
} from '../../entities/billing/values.ts';
import type { LocalMonth } from '../../platform/core/time/local-time.ts';
import { isIn, readClubMonth } from './club-month.ts';
import { readCharges, readOverageMonth } from './overage/showing.ts';
import { addOns, plans } from './plans.policy.ts';

type ClubPlanRecord = RecordOf<'ClubPlan'>;

const microsPerCent = 10_000;

interface PlanRow {
  plan: PlanName | null;
  openingPlan: PlanName;
  status: PlanStatus | null;
  currentPeriodEnd: Date | null;
  currency: string | null;
  students: number;
  /** Stored bytes. */
  stored: string;
  /** The part of this month's AI budget that is already spent, in millionths of a US dollar. */
  spent: string;
  /** The sum of the add-ons of each kind that are valid now. */
  bought: Partial<Record<AddOnKind, number>> | null;
}

/** An add-on for the AI budget counts only in the month in which it was paid. */
const inForce = (month: LocalMonth) =>
  sql`add_on.status = 'active' AND (add_on.kind <> 'ai_budget' OR ${isIn(month, sql`add_on.settled_at`)})`;

/**
 * @param clubId the id of an existing club
 * @param showsCosts whether the reader may see what the club pays: the cost of overage, and its charges (BILL-11)
 */
export async function readClubPlan(
  db: Queries,
  clubId: Id,
  now: Date,
  { showsCosts = false }: { showsCosts?: boolean } = {},
): Promise<ClubPlanRecord> {
  const month = await readClubMonth(db, clubId, now);
  const row =
    await db.one<PlanRow>(sql`SELECT ${columns(ClubPlan, ['plan', 'status', 'currentPeriodEnd', 'currency'], 'plan')}, club.opening_plan AS "openingPlan",
            ((SELECT coalesce(sum(students), 0) FROM club_student_counts WHERE club_id = club.id)
             + (SELECT coalesce(sum(students), 0) FROM club_student_changes WHERE club_id = club.id))::int AS students,
            ((SELECT coalesce(sum(bytes), 0) FROM club_storage WHERE club_id = club.id)
             + (SELECT coalesce(sum(bytes), 0) FROM club_storage_changes WHERE club_id = club.id)) AS stored,
            (SELECT coalesce(sum(spent_micros), 0) FROM club_ai_months
              WHERE club_id = club.id AND month = ${month.month}) AS spent,
            (SELECT jsonb_object_agg(kind, adds)
               FROM (SELECT kind, sum(adds) AS adds FROM add_ons add_on
                      WHERE add_on.club_id = club.id AND ${inForce(month)} GROUP BY kind) AS sums) AS bought
       FROM clubs club LEFT JOIN club_plans plan ON plan.club_id = club.id WHERE club.id = ${clubId}`);
  if (!row) throw new Error(`There is no club ${clubId}`);
  const name = row.plan ?? row.openingPlan;
  const used: Record<Resource, number> = {
    students: row.students,
    storage_bytes: Number(row.stored),
    ai_budget: Math.floor(Number(row.spent) / microsPerCent),
  };
  const allowances = Object.fromEntries(
    resources.map((resource) => [
      resource,
      { ...plans[name].allowances[resource], add_ons: boughtOf(resource, row.bought ?? {}), used: used[resource] },
    ]),
  ) as ClubPlanRecord['allowances'];
  const overage = await readOverageMonth(db, { clubId, plan: name, currency: row.currency, showsCosts }, month);
  const charges = showsCosts ? await readCharges(db, clubId) : [];
  return {
    plan: name,
    status: row.status ?? 'active',
    features: [...plans[name].features],
    allowances,
    ...(row.currentPeriodEnd && { current_period_end: row.currentPeriodEnd.toISOString() }),
    ...(overage && { overage }),
    ...(charges.length > 0 && { overage_charges: charges }),
  };
}

function boughtOf(resource: Resource, bought: Partial<Record<AddOnKind, number>>): number {
  const kinds = (Object.keys(addOns) as AddOnKind[]).filter((kind) => addOns[kind].resource === resource);
  return kinds.reduce((sum, kind) => sum + (bought[kind] ?? 0), 0);
}
