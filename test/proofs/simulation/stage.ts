/** The interface between a scenario and the simulation. */
import type { ActivityDeps } from '../../../activities/index.ts';
import type { WorkflowType } from '../../../platform/engine/workflow-types.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { createAttemptPermits } from '../../../worker/lanes/attempt-permits.ts';
import type { Decisions } from './decisions.ts';
import type { Statement } from './postgres.ts';

/** The time at which every schedule begins. */
export const beginning = Date.UTC(2026, 10, 2, 9);

/** The error of a broken invariant. */
export class BrokenInvariant extends Error {
  override name = 'BrokenInvariant';
  /** A shortened schedule must break the invariant with this name. */
  readonly invariant: string;

  constructor(invariant: string, details: string) {
    super(`${invariant}: ${details}`);
    this.invariant = invariant;
  }
}

export function mustHold(holds: boolean, invariant: string, details: () => string): void {
  if (!holds) throw new BrokenInvariant(invariant, details());
}

export interface Command {
  label: string;
  /** Runs the command in an API process. A refusal of the domain does not count as a fault. */
  run: () => Promise<void> | void;
}

export interface Stage {
  types: readonly WorkflowType[];
  depsFor: (db: Database, permits: ReturnType<typeof createAttemptPermits>) => Partial<ActivityDeps>;
  /**
   * Whether the worker with this name makes first attempts of deliveries directly, without a run. If the function is missing, no worker
   * makes direct attempts.
   */
  hasDirectLane?: (worker: string) => boolean;
  /** Returns the next command. The first choice must be harmless. */
  command: (decisions: Decisions) => Command;
  /** @throws BrokenInvariant */
  onStatement?: (statement: Statement) => void;
  /** Repairs the outside services, and resumes everything that is paused or disabled. */
  calm: () => readonly Command[];
  /** @throws BrokenInvariant when an invariant is broken. The simulation calls this check each time that no process has work */
  atRest?: () => Promise<void>;
  /** @throws BrokenInvariant when an invariant is broken. The simulation calls this check at the end, when all work must have ended */
  atEnd: () => Promise<void>;
  /** In milliseconds after the call of `calm`. */
  horizonMs: number;
  /** The longest lease of the rows of the scenario, in milliseconds. The default is a minute. */
  leaseMs?: number;
}
