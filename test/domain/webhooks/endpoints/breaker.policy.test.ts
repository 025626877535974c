import { expect } from 'chai';
import * as fc from 'fast-check';
import {
  afterFailure,
  breakerRules,
  failingDeadline,
  holdAfterArming,
  isThrottled,
  resetBreaker,
  mailIsDue,
  overloadHold,
  type Breaker,
} from '../../../../domain/webhooks/endpoints/breaker.policy.ts';

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
  throttledSince: null,
  throttleMailedAt: null,
};

/** One second apart. Each attempt is claimed after the record of the previous attempt. */
function afterFailures(times: number): Breaker {
  let breaker = closed;
  for (let second = 0; second < times; second++) {
    breaker = afterFailure(breaker, breaker.breakerEpoch, new Date(now.getTime() + second * 1_000)).breaker;
  }
  return breaker;
}

/** The attempt of a failure was claimed in the present epoch or earlier. */
const happenings = fc.array(
  fc.record({
    succeeds: fc.boolean().chain((heads) => (heads ? fc.boolean() : fc.constant(false))),
    epochsAgo: fc.nat({ max: 3 }),
    afterMs: fc.nat({ max: 2 * hour }),
  }),
  { maxLength: 60 },
);

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

describe('the circuit breaker (STATE-3, STATE-4, HOOK-7)', () => {
  it('does not throttle after four consecutive failures', () => {
    expect(afterFailures(4)).to.deep.equal({ ...closed, consecutiveFailures: 4, failingSince: now });
    expect(isThrottled(afterFailures(4))).to.equal(false);
  });

  it('throttles after 5 consecutive failures, with a first hold of 1 minute', () => {
    const fifth = new Date(now.getTime() + 4_000);
    expect(afterFailures(5)).to.deep.equal({
      consecutiveFailures: 5,
      failingSince: now,
      holdUntil: new Date(fifth.getTime() + minute),
      throttledSince: new Date(now.getTime() + 4_000),
      throttleMailedAt: null,
      breakerStep: 1,
      breakerEpoch: 1,
    });
    expect(isThrottled(afterFailures(5))).to.equal(true);
  });

  it('doubles the hold each time it opens, up to 1 hour', () => {
    const minutes = [1, 2, 4, 8, 16, 32, 60, 60, 60];
    expect(minutes.map((_, index) => holdAfterArming(index + 1) / minute)).to.deep.equal(minutes);
    expect(holdAfterArming(32_767)).to.equal(hour);
    expect(holdAfterArming(Number.MAX_SAFE_INTEGER)).to.equal(hour);
  });

  it('has the values of STATE-3 and STATE-5', () => {
    expect(breakerRules).to.deep.equal({
      failuresToArm: 5,
      firstHoldMs: minute,
      longestHoldMs: hour,
      failingMs: 5 * day,
      mailAfterMs: hour,
    });
  });

  it('opens again after each failed probe, with holds of 1, 2, 4 … 60 minutes', () => {
    const holds = [5, 6, 7, 8, 9, 10, 11, 12].map((failures) => {
      const recordedAt = now.getTime() + (failures - 1) * 1_000;
      return ((afterFailures(failures).holdUntil?.getTime() ?? 0) - recordedAt) / minute;
    });
    expect(holds).to.deep.equal([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  it('doubles the hold once for forty failures that were in flight together', () => {
    const throttled = afterFailures(5);
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

  it('is reset by any 2xx', () => {
    const reset = resetBreaker(afterFailures(9));
    expect(reset).to.deep.equal({ ...closed, breakerEpoch: afterFailures(9).breakerEpoch + 1 });
    let breaker = reset;
    for (let failure = 1; failure <= 5; failure++) breaker = afterFailure(breaker, breaker.breakerEpoch, now).breaker;
    expect(breaker).to.include({ breakerStep: 1, consecutiveFailures: 5 });
    expect(breaker.holdUntil).to.deep.equal(new Date(now.getTime() + minute));
  });

  describe('after any sequence of failures and successes', () => {
    it('counts the failures since the last 2xx', () => {
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

    it('throttles exactly from the fifth consecutive failure to the next 2xx', () => {
      fc.assert(
        fc.property(happenings, (all) =>
          runThrough(all, ({ after }) => {
            expect(isThrottled(after)).to.equal(after.consecutiveFailures >= 5);
            expect(after.holdUntil === null).to.equal(!isThrottled(after));
          }),
        ),
      );
    });

    it('holds deliveries for 1 minute to 1 hour after it opens', () => {
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

    it('opens again only if the failed attempt was claimed after the breaker opened', () => {
      fc.assert(
        fc.property(happenings, (all) =>
          runThrough(all, ({ before, after, succeeded, current }) => {
            if (succeeded || !isThrottled(before)) return;
            expect(after.breakerStep - before.breakerStep).to.equal(current ? 1 : 0);
          }),
        ),
      );
    });

    it('increases the epoch only when it opens and when it is reset', () => {
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

describe('the deadline of a failed endpoint (STATE-5, DEC-35)', () => {
  it('is 5 days after its first failure since the last accepted delivery', () => {
    expect(failingDeadline({ failingSince: now, enabledAt: null })).to.deep.equal(new Date(now.getTime() + 5 * day));
  });

  it('does not exist for an endpoint without failures', () => {
    expect(failingDeadline({ failingSince: null, enabledAt: null })).to.equal(undefined);
    expect(failingDeadline({ failingSince: null, enabledAt: now })).to.equal(undefined);
  });

  it('is 5 days after the endpoint was enabled if that is later than the first failure', () => {
    fc.assert(
      fc.property(fc.integer({ min: -20 * day, max: 20 * day }), (offset) => {
        const enabledAt = new Date(now.getTime() + offset);
        const from = Math.max(now.getTime(), enabledAt.getTime());
        expect(failingDeadline({ failingSince: now, enabledAt })).to.deep.equal(new Date(from + 5 * day));
      }),
    );
  });
});

describe('the hold after an answer of an overloaded endpoint (HOOK-21)', () => {
  const seconds = 1_000;
  const holds = [
    [429, undefined, 5 * seconds, 5 * seconds],
    [502, undefined, 5 * minute, minute],
    [504, undefined, undefined, minute],
    [429, 30, 5 * seconds, 30 * seconds],
    [429, 2, 5 * seconds, 5 * seconds],
    [429, 36_000, 10 * hour, hour],
    [500, 30, 5 * seconds, undefined],
    [503, 30, 30 * seconds, undefined],
    [undefined, undefined, 5 * seconds, undefined],
  ] as const;
  for (const [status, retryAfterSeconds, waitMs, hold] of holds)
    it(`is ${hold ?? 'no'} ms after ${status ?? 'no answer'}, Retry-After ${retryAfterSeconds ?? 'absent'}, wait ${waitMs ?? 'none'}`, () =>
      expect(
        overloadHold({
          ...(status !== undefined && { responseStatus: status }),
          ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
          waitMs,
        }),
      ).to.equal(hold));

  it('starts at the first failure, and doubles at the second', () => {
    const first = afterFailure(closed, 0, now, 5 * seconds);
    expect(first.armed).to.equal(true);
    expect(first.breaker).to.include({ consecutiveFailures: 1, breakerStep: 1, breakerEpoch: 1 });
    expect(first.breaker.holdUntil).to.deep.equal(new Date(now.getTime() + 5 * seconds));
    const second = afterFailure(first.breaker, 1, now, 5 * seconds).breaker;
    expect(second.holdUntil).to.deep.equal(new Date(now.getTime() + 2 * minute));
    const third = afterFailure(second, 2, now, hour).breaker;
    expect(third.holdUntil).to.deep.equal(new Date(now.getTime() + hour));
  });

  it('starts only once for attempts that were in flight together', () => {
    const { breaker } = afterFailure(closed, 0, now, 5 * seconds);
    expect(afterFailure(breaker, 0, now, 5 * seconds)).to.deep.include({ armed: false });
  });
});

describe('the mail about a throttled endpoint', () => {
  const after = (ms: number) => new Date(now.getTime() + ms);

  it('is due once, one hour after the endpoint is throttled', () => {
    const throttled = afterFailure(closed, 0, now, minute).breaker;
    expect(throttled.throttledSince).to.deep.equal(now);
    expect(mailIsDue(throttled, after(hour - 1))).to.equal(false);
    expect(mailIsDue(throttled, after(hour))).to.equal(true);
    const mailed = afterFailure({ ...throttled, throttleMailedAt: after(hour) }, 1, after(hour)).breaker;
    expect(mailIsDue(mailed, after(9 * hour))).to.equal(false);
    const reset = resetBreaker(mailed);
    expect([reset.throttledSince, reset.throttleMailedAt]).to.deep.equal([null, null]);
    expect(mailIsDue(reset, after(9 * hour))).to.equal(false);
    expect(mailIsDue(afterFailure(reset, 3, after(9 * hour), minute).breaker, after(10 * hour))).to.equal(true);
  });
});
