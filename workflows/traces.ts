/**
 * Passes a trace through a run: from the start and the signals of the run to its activities, and to the run that continues it. The
 * interceptor uses no `await`, and adds no command to the history. Therefore old histories still replay, and signals are handled at the
 * same time as without the interceptor.
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
