/**
 * Answers to requests with an e-mail address are sent only at ticks, counted from the arrival of the request (DEC-63). Known and unknown
 * addresses need different work, and the time of the answer must not reveal this.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { OperationId } from '../../contract/contract.ts';
import type { ApiDeps, Middleware } from './context.ts';

/** These answers must not reveal whether an account exists. */
const steady: ReadonlySet<string> = new Set<OperationId>([
  'signUpStudent',
  'resendStudentVerification',
  'requestStudentPasswordReset',
  'requestStudentCode',
  'exchangeStudentCode',
  'exchangeStudentSessionLink',
  'signUpAdministrator',
  'resendAdministratorVerification',
  'requestAdministratorPasswordReset',
]);

/** @returns a middleware that delays the answer to the next tick; none for other operations */
export function steadyAnswer({ settings }: ApiDeps, operationId: string): Middleware[] {
  const { answerTickMs } = settings;
  if (answerTickMs === 0 || !steady.has(operationId)) return [];
  return [
    async (context, next) => {
      const arrived = performance.now();
      try {
        return await next();
      } finally {
        // The status 200 has a new session, which shows anyway that the account exists.
        if (context.status !== 200) await pause(restOfTick(performance.now() - arrived, answerTickMs));
      }
    },
  ];
}

/** @returns milliseconds until the next tick */
export function restOfTick(elapsedMs: number, tickMs: number): number {
  return Math.ceil(elapsedMs / tickMs) * tickMs - elapsedMs;
}
