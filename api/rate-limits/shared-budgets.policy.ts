/**
 * How callers share the budget of a club, so that no caller can use up the calls of the others (LIM-24). Each caller has an own budget. A
 * part of it, the share, passes even if the club's budget is used up (docs/adr/0049).
 */
import type { Budget } from './rules.policy.ts';

/** All callers of a kind have the same bounds. */
export type SpenderKind = 'admin' | 'student' | 'file' | 'key';

/** The bounds are fractions of the club's budget. */
interface Bounds {
  /** In a window. */
  readonly own: number;
  /** This share of each caller's calls passes even if the club's budget is used up. */
  readonly share: number;
  /** The limit of all shares of this kind together, while the club's budget is used up. */
  readonly reserve: number;
}

const bounds: Readonly<Record<SpenderKind, Bounds>> = {
  admin: { own: 1, share: 1 / 4, reserve: 5 },
  student: { own: 1 / 6, share: 1 / 15, reserve: 2 },
  /** The upload token does not say who reserved the file, so the file counts as a caller. */
  file: { own: 1 / 6, share: 1 / 15, reserve: 5 },
  /** A key has no share: a program waits, so that the calls of people pass. */
  key: { own: 3 / 4, share: 0, reserve: 0 },
};

const scopes = { admin: 'administrator', student: 'student', file: 'file', key: 'key' } as const;

/** A call is charged to the caller's own budget and to the club's budgets. */
export interface SharedBudget {
  /** A refused call is charged only to its next window. */
  readonly own: Budget;
  /** These calls pass even if `pools` are used up. */
  readonly share: number;
  /** After a used-up budget, the following budgets are not charged. */
  readonly pools: readonly Budget[];
  /** Limits all calls that pass only because of shares. */
  readonly reserve: Budget;
}

/**
 * @param budget of the club
 * @param narrower charged before the club's budget
 */
export function sharedBudget(budget: Budget, kind: SpenderKind, narrower: readonly Budget[] = []): SharedBudget {
  const { own, share, reserve } = bounds[kind];
  const { counter, limit, windowSeconds } = budget;
  const part = (of: number) => (of === 0 ? 0 : Math.max(1, Math.floor(limit * of)));
  return {
    own: { counter: `${counter}_own_${kind}`, limit: part(own), windowSeconds, scope: scopes[kind] },
    share: part(share),
    pools: [...narrower, budget],
    reserve: { counter: `${counter}_reserve_${kind}`, limit: part(reserve), windowSeconds, scope: 'club' },
  };
}
