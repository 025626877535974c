/**
 * Answers of requests that name an address leave at ticks, counted from their arrival (DEC-63): the work for a known address
 * takes another time than for an unknown one, and the time of the answer must not tell.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { OperationId } from '../../contract/contract.ts';
import type { ApiDeps, Middleware } from './context.ts';

/** What asks for something for an address, and answers alike whether or not there is an account. */
const steady: ReadonlySet<string> = new Set<OperationId>([
  'signUpStudent',
  'resendStudentVerification',
  'requestStudentPasswordReset',
  'requestStudentCode',
  'exchangeStudentCode',
  'signUpAdministrator',
  'resendAdministratorVerification',
  'requestAdministratorPasswordReset',
]);

/** @returns nothing for other operations */
export function steadyAnswer({ settings }: ApiDeps, operationId: string): Middleware[] {
  const { answerTickMs } = settings;
  if (answerTickMs === 0 || !steady.has(operationId)) return [];
  return [
    async (context, next) => {
      const arrived = performance.now();
      try {
        return await next();
      } finally {
        // A session that was opened tells by itself that there is an account.
        if (context.status !== 200) await pause(restOfTick(performance.now() - arrived, answerTickMs));
      }
    },
  ];
}

/** @returns the milliseconds from `elapsedMs` to the next tick: work that outlasts one tick ends with a later one */
export function restOfTick(elapsedMs: number, tickMs: number): number {
  return Math.ceil(elapsedMs / tickMs) * tickMs - elapsedMs;
}
