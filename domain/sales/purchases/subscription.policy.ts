/**
 * Derives the state of a subscription from the times of its charges, late payments and cancellations, and not from the order of their
 * arrival (ADR 0012).
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
  /** If two charges have one time, the charge with the greater id is later. */
  externalId: string;
  paidAt: Date;
  /** Refunded or charged back. */
  undone: boolean;
}

/**
 * Returns the access that the subscription should have: "refunded" if the latest charge was refunded or charged back, or else by the newest
 * cancellation after it. A charge comes before a cancellation of its time.
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

/** A cancellation, or the first paid charge after one. */
export interface Step {
  at: Date;
  target: SaleTarget;
}

/**
 * Cancellations without a charge between them are one step, with the time of the first and the period end of the newest. Later notices can
 * only add steps, so each fact is recorded once, even if a notice arrives late.
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
