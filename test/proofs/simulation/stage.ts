/** What a scenario makes of a simulation, and says of it. */
import type { ActivityDeps } from '../../../activities/index.ts';
import type { WorkflowType } from '../../../platform/engine/workflow-types.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { createAttemptPermits } from '../../../worker/lanes/attempt-permits.ts';
import type { Decisions } from './decisions.ts';
import type { Statement } from './postgres.ts';

/** The time at which every schedule begins. */
export const beginning = Date.UTC(2026, 10, 2, 9);

/** An invariant does not hold. */
export class BrokenInvariant extends Error {
  override name = 'BrokenInvariant';
  /** Which one: a shorter schedule breaks the same. */
  readonly invariant: string;

  constructor(invariant: string, details: string) {
    super(`${invariant}: ${details}`);
    this.invariant = invariant;
  }
}

/** @throws BrokenInvariant unless it holds */
export function mustHold(holds: boolean, invariant: string, details: () => string): void {
  if (!holds) throw new BrokenInvariant(invariant, details());
}

/** A command of the schedule: what an API process is asked to do. */
export interface Command {
  label: string;
  /** In one of its processes; refusals of the domain are no faults. */
  run: () => Promise<void> | void;
}

export interface Stage {
  types: readonly WorkflowType[];
  /** What activities need, for a process. */
  depsFor: (db: Database, permits: ReturnType<typeof createAttemptPermits>) => Partial<ActivityDeps>;
  /** Whether a worker of this name makes first attempts of deliveries without a run; none does if absent. */
  hasDirectLane?: (worker: string) => boolean;
  /** The next thing that somebody asks for; the first of its choices is harmless. */
  command: (decisions: Decisions) => Command;
  /** A statement has come back. @throws BrokenInvariant */
  onStatement?: (statement: Statement) => void;
  /** The outside is well again; what is shut is opened. @returns what still has to be done for that */
  calm: () => readonly Command[];
  /** @throws BrokenInvariant; called whenever nobody has anything to do at a moment */
  atRest?: () => Promise<void>;
  /** @throws BrokenInvariant; called at the end, when all must have come to its end */
  atEnd: () => Promise<void>;
  /** How long after the calm everything must have ended, in milliseconds. */
  horizonMs: number;
  /** The longest lease of its rows, in milliseconds; a minute if absent. */
  leaseMs?: number;
}
