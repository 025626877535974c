/**
 * Defines how callers share the budget of a club, so that no caller can use up the calls of the others (LIM-24). Each caller also has an
 * own budget. A part of the own budget, the caller's share, passes even if other callers have used up the club's budget (docs/adr/0049).
 */
import type { Budget } from './rules.policy.ts';

/** The kinds of callers that share a club's budgets. All callers of a kind have the same bounds. */
export type SpenderKind = 'admin' | 'student' | 'file' | 'key';

/** The bounds of one kind of caller, as fractions of the club's budget. */
interface Bounds {
  /** The calls that one caller may make in a window. */
  readonly own: number;
  /** The calls of one caller that pass even if the club's budget is used up. */
  readonly share: number;
  /**
   * The maximum number of calls that pass because of shares while the club's budget is used up, for all callers of the kind together.
   */
  readonly reserve: number;
}

/** The bounds of each kind of caller. */
const bounds: Readonly<Record<SpenderKind, Bounds>> = {
  admin: { own: 1, share: 1 / 4, reserve: 5 },
  student: { own: 1 / 6, share: 1 / 15, reserve: 2 },
  /** A file of the club's library counts as a caller, because its upload token does not say who reserved the file. */
  file: { own: 1 / 6, share: 1 / 15, reserve: 5 },
  /** An API key has no share of its own: a program waits, so that the calls of people pass. */
  key: { own: 3 / 4, share: 0, reserve: 0 },
};

const scopes = { admin: 'administrator', student: 'student', file: 'file', key: 'key' } as const;

/** The budgets to which a caller's call is charged: the caller's own budget, and the budgets of the club. */
export interface SharedBudget {
  /** The caller's own budget. A refused call is charged only to its next window. */
  readonly own: Budget;
  /** The number of the caller's own calls that pass even if the shared budgets (`pools`) are used up. */
  readonly share: number;
  /** The shared budgets. A call that finds one budget used up does not charge the following budgets. */
  readonly pools: readonly Budget[];
  /**
   * While the shared budgets (`pools`) are used up, calls pass only because of a caller's share. This budget limits such calls, and all
   * callers of the kind have it in common.
   */
  readonly reserve: Budget;
}

/**
 * @param budget the budget of the club
 * @param narrower smaller budgets that callers of this kind share; they are charged before the club's budget
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
