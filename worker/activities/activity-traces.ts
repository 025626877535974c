/** Traces on their way through Temporal: into the headers of runs, and out of those of activities (ADR 42). */
import type { Context } from '@temporalio/activity';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import { causeOf, traceHeader, type Cause } from '../../platform/core/traces.policy.ts';
import { inSpan, isTracing, traceparent } from '../../platform/infra/tracing.ts';

/** Gives starts and signals the active span, for the steps that they lead to. */
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

/** An activity is a span: in the trace that led to it, or, more than ten minutes later, in one of its own with a link. */
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

/** @returns undefined where there is none that can be read: whoever wrote it, the step goes on */
function causeIn(headers: Headers): Cause | undefined {
  const payload = headers[traceHeader];
  if (payload === undefined) return undefined;
  try {
    return causeOf(defaultPayloadConverter.fromPayload(payload));
  } catch {
    return undefined;
  }
}
