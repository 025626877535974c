/** Turns every error of an activity into a code: Temporal must not keep or show a row or a request (ENG-12). */
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import type { Logger } from 'pino';
import { describeError } from '../platform/infra/describe-error.ts';

/** @param log gets the error by kind and place, so that an operator finds more there than in Temporal */
export function errorsAsCodes(log: Logger): () => ActivityInterceptors {
  return () => ({
    inbound: {
      async execute(input, next) {
        try {
          return await next(input);
        } catch (error) {
          if (error instanceof CancelledFailure) throw error;
          const described = describeError(error);
          log.error({ error: described }, 'activity failed');
          const code = described.code ?? described.name;
          throw ApplicationFailure.create({ type: code, message: `${code}; the worker's log says where` });
        }
      },
    },
  });
}
