/**
 * What a subscription's charges, latenesses and cancellations come to, whatever order they arrive in: a function of all
 * that is known, by the notices' own times (ADR 0012).
 */
import type { SubscriptionStatus } from './platforms.policy.ts';

export interface Cancellation {
  at: Date;
  /** Until when the access goes on; null for not at all. */
  periodEnd: Date | null;
}

/** What the access follows: a cancellation, or the first charge that was paid after it. */
export type Step = { kind: 'end'; at: Date; periodEnd: Date | null } | { kind: 'resume' };

/**
 * Cancellations without a charge between them are one, with the latest end that they state. A charge of the very time of a
 * cancellation was before it. The list only grows with what is known: so each step is taken once.
 */
export function stepsOf(paidAt: readonly Date[], cancellations: readonly Cancellation[]): Step[] {
  const timeline = [
    ...paidAt.map((at) => ({ at, canceled: false, periodEnd: null })),
    ...cancellations.map((cancellation) => ({ ...cancellation, canceled: true })),
  ].toSorted((a, b) => a.at.getTime() - b.at.getTime() || Number(a.canceled) - Number(b.canceled));
  const steps: Step[] = [];
  for (const { at, canceled, periodEnd } of timeline) {
    const last = steps.at(-1);
    if (canceled && last?.kind === 'end') last.periodEnd = later(last.periodEnd, periodEnd);
    else if (canceled) steps.push({ kind: 'end', at, periodEnd });
    else if (last?.kind === 'end') steps.push({ kind: 'resume' });
  }
  return steps;
}

function later(left: Date | null, right: Date | null): Date | null {
  if (left === null || right === null) return left ?? right;
  return left > right ? left : right;
}

export interface Standing {
  status: SubscriptionStatus;
  /** The first lateness since the last charge that was paid. */
  pastDueSince: Date | null;
  canceledAt: Date | null;
}

export function standingOf(paidAt: readonly Date[], lateAt: readonly Date[], steps: readonly Step[]): Standing {
  const lastPaid = Math.max(...paidAt.map((at) => at.getTime()), -Infinity);
  const unpaid = lateAt.map((at) => at.getTime()).filter((at) => at > lastPaid);
  const pastDueSince = unpaid.length === 0 ? null : new Date(Math.min(...unpaid));
  const last = steps.at(-1);
  const canceledAt = last?.kind === 'end' ? last.at : null;
  if (canceledAt !== null) return { status: 'canceled', pastDueSince, canceledAt };
  return { status: pastDueSince === null ? 'active' : 'past_due', pastDueSince, canceledAt };
}
