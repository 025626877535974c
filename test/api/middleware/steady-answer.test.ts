/**
 * Tests answers that the API sends only at fixed times, called ticks (DEC-63). `npm run bench -- timing` compares the times of answers for
 * known and unknown addresses.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { restOfTick, steadyAnswer } from '../../../api/middleware/steady-answer.ts';
import type { ApiDeps, Context } from '../../../api/middleware/context.ts';
import { contractOperations } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';

const tick = 40;
const deps = (answerTickMs = tick) => ({ settings: { answerTickMs } }) as ApiDeps;

/** @returns the time until the answer, in milliseconds */
async function durationOf(operationId: string, status: number, work: () => Promise<unknown>): Promise<number> {
  const [middleware] = steadyAnswer(deps(), operationId);
  if (!middleware) return Number.NaN;
  const begin = performance.now();
  const context = { status: 404 } as Context;
  await middleware(context, async () => {
    await work();
    context.status = status;
  }).catch(() => undefined);
  return performance.now() - begin;
}

describe('a steady answer (DEC-63)', () => {
  it('is sent at the first tick after the work for the answer ends', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.001, max: 10_000, noNaN: true }),
        fc.integer({ min: 1, max: 5_000 }),
        (elapsed, ms) => {
          const rest = restOfTick(elapsed, ms);
          expect(rest).to.be.within(0, ms);
          const ticks = (elapsed + rest) / ms;
          expect(ticks).to.be.closeTo(Math.round(ticks), 1e-6);
        },
      ),
    );
  });

  it('waits for a tick if it is a 202 or a refusal, but not if it contains a new session', async () => {
    // Node rounds a wait down to whole milliseconds, and a timer may fire a millisecond early by the clock that measures here.
    const atLeast = tick - 2;
    expect(await durationOf('requestStudentPasswordReset', 202, async () => {})).to.be.at.least(atLeast);
    const refuse = () => Promise.reject(new DomainError('token_gone', 'It is gone.'));
    expect(await durationOf('exchangeStudentCode', 410, refuse)).to.be.at.least(atLeast);
    expect(await durationOf('exchangeStudentCode', 200, async () => {})).to.be.below(tick / 2);
  });

  it('answers requests for sign-up, resend, reset and codes, and can be switched off', () => {
    const named = contractOperations().filter(({ operationId }) => steadyAnswer(deps(), operationId).length === 1);
    expect(named.map(({ operationId }) => operationId)).to.have.members([
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
    expect(steadyAnswer(deps(0), 'signUpStudent')).to.deep.equal([]);
  });
});
