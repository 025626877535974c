/** Carries traces through Temporal: writes them to the headers of runs, and reads them from the headers of activities (ADR 42). */
import type { Context } from '@temporalio/activity';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import { causeOf, traceHeader, type Cause } from '../../platform/core/traces.policy.ts';
import { inSpan, isTracing, traceparent } from '../../platform/infra/tracing.ts';

/** Adds the active span to the headers when a workflow is started or signaled. */
export const startsInTraces: WorkflowClientInterceptor = {
  startWithDetails: (input, next) => next(withActiveSpan(input)),
  signalWithStart: (input, next) => next(withActiveSpan(input)),
};

function withActiveSpan<Input extends { headers: Headers }>(input: Input): Input {
  const here = traceparent();
  if (here === undefined) return input;
  const cause: Cause = { traceparent: here, at: Date.now() };
  return { ...input, headers: { ...input.headers, [traceHeader]: defaultPayloadConverter.toPayload(cause) } };
}

/**
 * Runs each activity in a span. The span belongs to the trace of the span that caused the run. If that span is more than ten minutes old,
 * the activity begins a new trace with a link to the old trace.
 */
export function stepsInSpans({ info }: { info: Context['info'] }): ActivityInterceptors {
  return {
    inbound: {
      execute(input, next) {
        if (!isTracing()) return next(input);
        const { workflowType, workflowExecution, taskQueue, activityType, attempt } = info;
        const attributes = {
          'club.workflow.type': workflowType,
          'club.workflow.id': workflowExecution?.workflowId,
          'club.task_queue': taskQueue,
          'club.attempt': attempt,
        };
        const cause = causeIn(input.headers);
        return inSpan(activityType, { kind: 'consumer', cause, attributes }, () => next(input));
      },
    },
  };
}

/** @returns undefined if the header is missing or unreadable, because the step must run even without it */
function causeIn(headers: Headers): Cause | undefined {
  const payload = headers[traceHeader];
  if (payload === undefined) return undefined;
  try {
    return causeOf(defaultPayloadConverter.fromPayload(payload));
  } catch {
    return undefined;
  }
}
