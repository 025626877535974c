/**
 * Turns errors of activities into codes, because Temporal must not store data of rows or requests (ENG-12). If the step of a workflow
 * fails, its activity succeeds with the answer "not done". The next try follows after a growing pause (ENG-16).
 */
import type { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import type { Logger } from 'pino';
import { timeOfStep } from '../../activities/step.ts';
import { noteFault } from '../../platform/engine/faults.ts';
import { workflowTypeNames, type WorkflowType } from '../../platform/engine/workflow-types.ts';
import { build } from '../../platform/infra/build.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { failSpan, traceId } from '../../platform/infra/tracing.ts';
import { stepFaults } from '../reports/metrics.ts';

/** @param log gets the kind and the location of each error, which Temporal does not get */
export function errorsAsCodes(log: Logger): (context: Pick<Context, 'info'>) => ActivityInterceptors {
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        try {
          return await next(input);
        } catch (error) {
          if (error instanceof CancelledFailure) throw error;
          const described = describeError(error);
          log.error({ ...placeOf(info), error: described }, 'activity failed');
          const code = described.code ?? described.name;
          throw ApplicationFailure.create({ type: code, message: `${code}; the worker's log names the location` });
        }
      },
    },
  });
}

/**
 * Records the fault of a step and answers "not done". If the fault cannot be recorded, for example while Postgres is unavailable, the
 * activity fails with the error, and Temporal repeats the activity.
 */
export function faultsAsAnswers(db: Database, log: Logger): (context: Pick<Context, 'info'>) => ActivityInterceptors {
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        try {
          return await next(input);
        } catch (error) {
          const type = workflowTypeNames.find((known) => known === info.workflowType);
          if (type === undefined || error instanceof CancelledFailure) throw error;
          const answer = await recordFault(db, type, input.args, error);
          if (answer === undefined) throw error;
          stepFaults.inc({ workflow: type });
          failSpan(error);
          const { faults } = answer.failing;
          log.error({ ...placeOf(info), faults, error: describeError(error) }, 'a step failed; it is tried again');
          return answer;
        }
      },
    },
  });
}

function placeOf({ workflowType, workflowExecution, taskQueue, activityType, attempt }: Context['info']) {
  return {
    workflow: workflowType,
    workflow_id: workflowExecution?.workflowId,
    run_id: workflowExecution?.runId,
    queue: taskQueue,
    activity: activityType,
    attempt,
    trace: traceId(),
    build: build?.buildId,
  };
}

/**
 * @param args the arguments of a step: the row's id, and the workflow's time
 * @returns the answer of the step; undefined if the fault cannot be recorded
 */
async function recordFault(db: Database, type: WorkflowType, args: readonly unknown[], error: unknown) {
  const [subjectId, now] = args;
  if (typeof subjectId !== 'string' || typeof now !== 'number') return undefined;
  return noteFault(db, type, subjectId, error, timeOfStep(now)).catch(() => undefined);
}
