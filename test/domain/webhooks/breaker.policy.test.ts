import { expect } from 'chai';
import * as fc from 'fast-check';
import {
  afterFailure,
  breakerRules,
  failingDeadline,
  holdAfterArming,
  isThrottled,
  resetBreaker,
  type Breaker,
} from '../../../domain/webhooks/breaker.policy.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const now = new Date('2026-03-01T12:00:00Z');

const closed: Breaker = {
  consecutiveFailures: 0,
  failingSince: null,
  holdUntil: null,
  breakerStep: 0,
  breakerEpoch: 0,
};

/** The breaker after so many failures in a row, each claimed after the one before was recorded, a second apart. */
function failing(times: number): Breaker {
  let breaker = closed;
  for (let second = 0; second < times; second++) {
    breaker = afterFailure(breaker, breaker.breakerEpoch, new Date(now.getTime() + second * 1_000)).breaker;
  }
  return breaker;
}

/** A failure claimed now or some epochs ago, or an accepted delivery, some time after what went before. */
const happenings = fc.array(
  fc.record({
    succeeds: fc.boolean().chain((heads) => (heads ? fc.boolean() : fc.constant(false))),
    epochsAgo: fc.nat({ max: 3 }),
    afterMs: fc.nat({ max: 2 * hour }),
  }),
  { maxLength: 60 },
);

/** Runs through them, showing each step to `look`. */
function runThrough(
  all: readonly { succeeds: boolean; epochsAgo: number; afterMs: number }[],
  look: (step: { before: Breaker; after: Breaker; at: Date; succeeded: boolean; current: boolean }) => void,
): void {
  let breaker = closed;
  let at = now;
  for (const { succeeds, epochsAgo, afterMs } of all) {
    at = new Date(at.getTime() + afterMs);
    const before = breaker;
    const claimEpoch = Math.max(0, before.breakerEpoch - epochsAgo);
    breaker = succeeds ? resetBreaker(before) : afterFailure(before, claimEpoch, at).breaker;
    look({ before, after: breaker, at, succeeded: succeeds, current: claimEpoch === before.breakerEpoch });
  }
}

describe('the circuit breaker (States, Webhook endpoint)', () => {
  it('four failures in a row throttle nothing', () => {
    expect(failing(4)).to.deep.equal({ ...closed, consecutiveFailures: 4, failingSince: now });
    expect(isThrottled(failing(4))).to.equal(false);
  });

  it('5 failures in a row: throttled, and the wait starts at 1 minute', () => {
    const fifth = new Date(now.getTime() + 4_000);
    expect(failing(5)).to.deep.equal({
      consecutiveFailures: 5,
      failingSince: now,
      holdUntil: new Date(fifth.getTime() + minute),
      breakerStep: 1,
      breakerEpoch: 1,
    });
    expect(isThrottled(failing(5))).to.equal(true);
  });

  it('the wait doubles up to 1 hour, and is no longer for any number of armings', () => {
    const minutes = [1, 2, 4, 8, 16, 32, 60, 60, 60];
    expect(minutes.map((_, index) => holdAfterArming(index + 1) / minute)).to.deep.equal(minutes);
    expect(holdAfterArming(32_767)).to.equal(hour);
    expect(holdAfterArming(Number.MAX_SAFE_INTEGER)).to.equal(hour);
  });

  it('the numbers of the specification', () => {
    expect(breakerRules).to.deep.equal({
      failuresToArm: 5,
      firstHoldMs: minute,
      longestHoldMs: hour,
      failingMs: 5 * day,
    });
  });

  it('each probe that fails arms again: 5 failures and six probes hold 1, 2, 4 … 60 minutes', () => {
    const holds = [5, 6, 7, 8, 9, 10, 11, 12].map((failures) => {
      const recordedAt = now.getTime() + (failures - 1) * 1_000;
      return ((failing(failures).holdUntil?.getTime() ?? 0) - recordedAt) / minute;
    });
    expect(holds).to.deep.equal([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  it('forty failures in flight double the wait once', () => {
    const throttled = failing(5);
    let breaker = throttled;
    const armings = [];
    for (let failure = 0; failure < 40; failure++) {
      const { armed, breaker: next } = afterFailure(breaker, throttled.breakerEpoch, now);
      armings.push(armed);
      breaker = next;
    }
    expect(armings.filter(Boolean)).to.have.length(1);
    expect(armings[0]).to.equal(true);
    expect(breaker).to.include({ breakerStep: 2, consecutiveFailures: 45 });
  });

  it('any 2xx: reset to zero, and five more failures arm it at 1 minute again', () => {
    const reset = resetBreaker(failing(9));
    expect(reset).to.deep.equal({ ...closed, breakerEpoch: failing(9).breakerEpoch + 1 });
    let breaker = reset;
    for (let failure = 1; failure <= 5; failure++) breaker = afterFailure(breaker, breaker.breakerEpoch, now).breaker;
    expect(breaker).to.include({ breakerStep: 1, consecutiveFailures: 5 });
    expect(breaker.holdUntil).to.deep.equal(new Date(now.getTime() + minute));
  });

  describe('whatever happens', () => {
    it('consecutive_failures counts the failures since the last 2xx, and failing_since is the first of them', () => {
      fc.assert(
        fc.property(happenings, (all) => {
          let [count, first]: [number, Date | null] = [0, null];
          runThrough(all, ({ after, at, succeeded }) => {
            [count, first] = succeeded ? [0, null] : [count + 1, first ?? at];
            expect(after.consecutiveFailures).to.equal(count);
            expect(after.failingSince).to.deep.equal(first);
          });
        }),
      );
    });

    it('it is throttled exactly from the fifth failure in a row to the next 2xx', () => {
      fc.assert(
        fc.property(happenings, (all) =>
          runThrough(all, ({ after }) => {
            expect(isThrottled(after)).to.equal(after.consecutiveFailures >= 5);
            expect(after.holdUntil === null).to.equal(!isThrottled(after));
          }),
        ),
      );
    });

    it('a hold lasts from 1 minute to 1 hour, begins with the failure that armed, and is never shortened', () => {
      fc.assert(
        fc.property(happenings, (all) =>
          runThrough(all, ({ before, after, at, succeeded }) => {
            if (succeeded || after.holdUntil === null) return;
            if (after.breakerStep === before.breakerStep) {
              expect(after.holdUntil).to.deep.equal(before.holdUntil);
              return;
            }
            expect(after.breakerStep).to.equal(before.breakerStep + 1);
            expect(after.holdUntil.getTime() - at.getTime()).to.be.within(minute, hour);
            expect(after.holdUntil.getTime()).to.be.above(before.holdUntil?.getTime() ?? 0);
          }),
        ),
      );
    });

    it('once throttled, a failure arms again exactly if it was claimed since the last arming', () => {
      fc.assert(
        fc.property(happenings, (all) =>
          runThrough(all, ({ before, after, succeeded, current }) => {
            if (succeeded || !isThrottled(before)) return;
            expect(after.breakerStep - before.breakerStep).to.equal(current ? 1 : 0);
          }),
        ),
      );
    });

    it('the epoch rises with every arming and every reset, and with nothing else: a claim knows its own', () => {
      fc.assert(
        fc.property(happenings, (all) =>
          runThrough(all, ({ before, after, succeeded }) => {
            const raised = succeeded || after.breakerStep > before.breakerStep;
            expect(after.breakerEpoch - before.breakerEpoch).to.equal(raised ? 1 : 0);
          }),
        ),
      );
    });
  });
});

describe('when a failing endpoint is given up (States, Webhook endpoint: 5 days without an accepted delivery)', () => {
  it('5 days after its first failure since the last accepted delivery', () => {
    expect(failingDeadline({ failingSince: now, enabledAt: null })).to.deep.equal(new Date(now.getTime() + 5 * day));
  });

  it('one that does not fail never is, however long nothing was accepted', () => {
    expect(failingDeadline({ failingSince: null, enabledAt: null })).to.equal(undefined);
    expect(failingDeadline({ failingSince: null, enabledAt: now })).to.equal(undefined);
  });

  it('set enabled after its first failure, it has 5 days from then; enabled before, it has no more and no less', () => {
    fc.assert(
      fc.property(fc.integer({ min: -20 * day, max: 20 * day }), (offset) => {
        const enabledAt = new Date(now.getTime() + offset);
        const from = Math.max(now.getTime(), enabledAt.getTime());
        expect(failingDeadline({ failingSince: now, enabledAt })).to.deep.equal(new Date(from + 5 * day));
      }),
    );
  });
});
