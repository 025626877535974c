/**
 * Reads the data of a run from Postgres, and lets the interpreter decide what the run does. Real runs and dry runs both use this code
 * (AUTO-10, AUTO-19).
 */
import type { AccessKind, AutomationStatus } from '../../../entities/automations/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Condition } from '../../conditions/conditions.ts';
import { answer, type Answers } from '../asking.ts';
import { languageOfToday, type PlacedStep } from '../versions/definition.policy.ts';
import { asksCondition, combine, decide, watchOf, type Decision } from '../interpreter.policy.ts';
import type { ReadVersion } from './version-cache.ts';

/** The values of a run's row that the decision needs. */
export interface Standing {
  id: Id;
  studentId: Id;
  cursor: string | null;
  deadline: Date | null;
  accessKind: AccessKind | null;
  accessId: Id | null;
  /** Whether, at an earlier evaluation, the student had the access for which the run was started. */
  wasOpen: boolean;
}

export interface Look {
  placed: PlacedStep;
  /** The condition of the step. Absent if the step has no condition to evaluate. */
  condition: Condition | undefined;
  answers: Answers;
  /** Whether, at this evaluation or an earlier one, the student had the access for which the run was started. */
  wasOpen: boolean;
  decision: Decision;
}

/** @returns the current step, or the reason why it cannot be read */
export function placeOf(
  version: ReadVersion,
  cursor: string | null,
): PlacedStep | { code: 'unknown_language' | 'unknown_step' } {
  if (version.language !== languageOfToday) return { code: 'unknown_language' };
  return version.steps.get(cursor ?? '') ?? { code: 'unknown_step' };
}

/** @param world the `WITH …` clause of a dry run. It replaces the tables that the rules read */
export async function lookAt(
  db: Queries,
  { definition }: ReadVersion,
  placed: PlacedStep,
  run: Standing,
  { automation, now, world }: { automation: AutomationStatus; now: Date; world?: Sql },
): Promise<Look> {
  const { exit_when: exitWhen, exit_on_access_lost: exitsWithAccess } = definition;
  const condition = asksCondition(placed);
  const answers = await answer(
    db,
    {
      runId: run.id,
      studentId: run.studentId,
      exitWhen,
      condition,
      access: exitsWithAccess ? { kind: run.accessKind, id: run.accessId } : undefined,
      watchesAccess: watchOf(definition, placed).access,
    },
    now,
    world,
  );
  const decision = decide(placed, {
    automation,
    exits: exitWhen !== undefined && combine(exitWhen, answers.exitWhen),
    accessLost: exitsWithAccess && run.wasOpen && answers.open === false,
    holds: condition !== undefined && combine(condition, answers.condition),
    now,
    deadline: run.deadline,
  });
  return { placed, condition, answers, wasOpen: run.wasOpen || answers.open === true, decision };
}
