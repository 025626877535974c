/**
 * What a subscription's charges, latenesses and cancellations come to, whatever order they arrive in: a function of all
 * that is known, by the notices' own times (ADR 0012).
 */
import type { SaleTarget, SubscriptionStatus } from '../../../entities/sales/values.ts';
import { greatest, least } from '../../../platform/core/extremes.ts';

export interface Cancellation {
  at: Date;
  /** Until when the access goes on; null for not at all. */
  periodEnd: Date | null;
}

/** A charge that was paid, whatever became of it. */
export interface Charge {
  /** The platform's: of two charges of one time the greater is the later. */
  externalId: string;
  paidAt: Date;
  /** Refunded or charged back. */
  undone: boolean;
}

/**
 * What the access is to be. The latest charge decides: undone, the access is; otherwise the newest cancellation since then
 * does. A charge of the very time of a cancellation was before it.
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

/** What the access has gone through: a cancellation, or the first charge that was paid after it. */
export interface Step {
  at: Date;
  target: SaleTarget;
}

/**
 * Cancellations without a charge between them are one, of the time of the first and with the end of the newest. The list only
 * grows with what is known: so each step raises its event once, also where it arrives late.
 */
export function stepsOf(paidAt: readonly Date[], cancellations: readonly Cancellation[]): Step[] {
  // Charges first: at one time they stay before cancellations.
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
  /** The first lateness since the last charge that was paid. */
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
