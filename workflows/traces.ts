/**
 * Carries a trace through a run: from its start and its signals to its activities, and to the run that continues it. It uses no `await`
 * and no command of its own. Therefore histories replay unchanged, and signals are handled at the same time as without this interceptor.
 */
import type { Headers, WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { traceHeader } from '../platform/core/traces.policy.ts';

/** The export name that Temporal expects in a module of interceptors. */
export const interceptors: WorkflowInterceptorsFactory = () => {
  let cause: Headers[string] | undefined;
  const take = ({ headers }: { headers: Headers }) => {
    cause = headers[traceHeader] ?? cause;
  };
  const withCause = <Input extends { headers: Headers }>(input: Input): Input =>
    cause === undefined ? input : { ...input, headers: { ...input.headers, [traceHeader]: cause } };
  return {
    inbound: [
      {
        execute(input, next) {
          take(input);
          return next(input);
        },
        handleSignal(input, next) {
          take(input);
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(withCause(input)),
        scheduleLocalActivity: (input, next) => next(withCause(input)),
        continueAsNew: (input, next) => next(withCause(input)),
      },
    ],
  };
};
