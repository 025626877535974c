/**
 * Passes the trace of a start or a signal on to the activities of the run, and to the run that continues it. The interceptor uses no
 * `await` and adds no command to the history. So old histories can still be replayed, and signals are handled as early as before.
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
