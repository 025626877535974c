/**
 * How callers spend a budget that a whole club shares (LIM-24): nobody can spend what others need. Each caller has a budget of their
 * own, and a share of it that passes although the others have spent the club's (docs/adr/0049).
 */
import type { Budget } from './rules.policy.ts';

/** Who spends from a club's budgets. Callers of one kind have the same bounds. */
export type SpenderKind = 'admin' | 'student' | 'file';

/** The bounds of one kind of caller, as parts of the limit of the club's budget. */
interface Bounds {
  /** What one caller may spend in a window. */
  readonly own: number;
  /** What passes of it although the club's budget is spent. */
  readonly share: number;
  /** What the shares of all callers of the kind add to the club's budget at most. */
  readonly reserve: number;
}

/** A kind is one row. A key of the API would have the row of an administrator. */
const bounds: Readonly<Record<SpenderKind, Bounds>> = {
  admin: { own: 1, share: 1 / 4, reserve: 5 },
  student: { own: 1 / 6, share: 1 / 15, reserve: 2 },
  /** A file of the club's library, whose token does not say who reserved it. */
  file: { own: 1 / 6, share: 1 / 15, reserve: 5 },
};

const scopes = { admin: 'administrator', student: 'student', file: 'file' } as const;

/** One budget of a club, as one caller spends from it. */
export interface SharedBudget {
  /** The caller's own. What is refused to the caller is charged to its next window alone. */
  readonly own: Budget;
  /** How many calls of the own budget pass although `pools` are spent. */
  readonly share: number;
  /** What all of them spend together; a call that finds one spent does not reach those after it. */
  readonly pools: readonly Budget[];
  /** How many calls of all callers together pass by their shares when `pools` are spent. */
  readonly reserve: Budget;
}

/**
 * @param budget the club's
 * @param narrower a budget that callers of this kind spend together before they reach the club's
 */
export function sharedBudget(budget: Budget, kind: SpenderKind, narrower: readonly Budget[] = []): SharedBudget {
  const { own, share, reserve } = bounds[kind];
  const { counter, limit, windowSeconds } = budget;
  const part = (of: number) => Math.max(1, Math.floor(limit * of));
  return {
    own: { counter: `${counter}_own_${kind}`, limit: part(own), windowSeconds, scope: scopes[kind] },
    share: part(share),
    pools: [...narrower, budget],
    reserve: { counter: `${counter}_reserve_${kind}`, limit: part(reserve), windowSeconds, scope: 'club' },
  };
}
