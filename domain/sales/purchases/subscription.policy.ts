/**
 * Derives the state of a subscription from its charges, late payments and cancellations. The state depends on the times of these events,
 * and not on the order of their arrival (ADR 0012).
 */
import type { SaleTarget, SubscriptionStatus } from '../../../entities/sales/values.ts';
import { greatest, least } from '../../../platform/core/extremes.ts';

export interface Cancellation {
  at: Date;
  /** Null if the access ends immediately, at the cancellation. */
  periodEnd: Date | null;
}

/** A paid charge, even if it was refunded or charged back later. */
export interface Charge {
  /** The platform's id of the charge. If two charges have the same time, the charge with the greater id counts as later. */
  externalId: string;
  paidAt: Date;
  /** Refunded or charged back. */
  undone: boolean;
}

/**
 * Returns the access that the subscription should have. If the latest charge was refunded or charged back, the access has the status
 * "refunded". Otherwise, the newest cancellation after that charge determines the access. If a charge and a cancellation have the same
 * time, the charge counts as earlier.
 */
export function targetOf(charges: readonly Charge[], cancellations: readonly Cancellation[]): SaleTarget {
  const latest = charges.toSorted(
    (a, b) => a.paidAt.getTime() - b.paidAt.getTime() || (a.externalId < b.externalId ? -1 : 1),
  );
  const last = latest.at(-1);
  if (last?.undone) return { kind: 'refunded' };
  const newest = cancellations
    .filter(({ at }) => last === undefined || at >= last.paidAt)
    .toSorted(inTime)
    .at(-1);
  return newest ? canceledBy(newest) : { kind: 'open' };
}

const inTime = (a: Cancellation, b: Cancellation) => a.at.getTime() - b.at.getTime() || endOf(a) - endOf(b);
const endOf = ({ periodEnd }: Cancellation) => periodEnd?.getTime() ?? -Infinity;
const canceledBy = ({ periodEnd }: Cancellation): SaleTarget => ({
  kind: 'canceled',
  periodEnd: periodEnd?.toISOString() ?? null,
});

/** A step in the history of the access: a cancellation, or the first charge that was paid after a cancellation. */
export interface Step {
  at: Date;
  target: SaleTarget;
}

/**
 * Cancellations that have no charge between them count together as one step. This step has the time of the first of these cancellations,
 * and the period end of the newest cancellation. Later notices can only add steps. So the fact of each step is recorded only once, even if
 * a
 * notice arrives late.
 */
export function stepsOf(paidAt: readonly Date[], cancellations: readonly Cancellation[]): Step[] {
  // Charges come first, so that a stable sort keeps them before cancellations of their time.
  const timeline = [
    ...paidAt.map((at) => ({ at, target: { kind: 'open' } as const })),
    ...cancellations
      .toSorted(inTime)
      .map((cancellation) => ({ at: cancellation.at, target: canceledBy(cancellation) })),
  ].toSorted((a, b) => a.at.getTime() - b.at.getTime());
  const steps: Step[] = [];
  for (const step of timeline) {
    const last = steps.at(-1);
    if ((last?.target.kind ?? 'open') !== step.target.kind) steps.push({ ...step });
    else if (last) last.target = step.target;
  }
  return steps;
}

export interface Standing {
  status: SubscriptionStatus;
  /** Finds the first late payment after the last paid charge. */
  pastDueSince: Date | null;
  canceledAt: Date | null;
}

export function standingOf(paidAt: readonly Date[], lateAt: readonly Date[], steps: readonly Step[]): Standing {
  const lastPaid = greatest(paidAt.map((at) => at.getTime()));
  const unpaid = lateAt.map((at) => at.getTime()).filter((at) => at > lastPaid);
  const pastDueSince = unpaid.length === 0 ? null : new Date(least(unpaid));
  const last = steps.at(-1);
  if (last?.target.kind === 'canceled') return { status: 'canceled', pastDueSince, canceledAt: last.at };
  return { status: pastDueSince === null ? 'active' : 'past_due', pastDueSince, canceledAt: null };
}
