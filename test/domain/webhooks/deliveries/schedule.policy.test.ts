import { expect } from 'chai';
import * as fc from 'fast-check';
import {
  deliveryRules,
  honouredRetryAfter,
  waitAfterAttempt,
} from '../../../../domain/webhooks/deliveries/schedule.policy.ts';

const hour = 3_600_000;
/** After attempts 1 to 7 (DEL-3). */
const waits = [5_000, 300_000, 1_800_000, 2 * hour, 5 * hour, 10 * hour, 10 * hour];

const jitters = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const attempts = fc.integer({ min: 1, max: 7 });

describe('the schedule of eight attempts (DEL-3)', () => {
  for (const [index, wait] of waits.entries()) {
    it(`waits ${wait / 1_000} s after attempt ${index + 1}, plus or minus 10 % jitter`, () => {
      expect(waitAfterAttempt(index + 1, { jitter: 0 })).to.equal(Math.round(wait * 0.9));
      expect(waitAfterAttempt(index + 1, { jitter: 0.5 })).to.equal(wait);
      expect(waitAfterAttempt(index + 1, { jitter: 1 - Number.EPSILON })).to.equal(Math.round(wait * 1.1));
    });
  }

  it('has no wait after the eighth attempt', () => {
    expect(waitAfterAttempt(8, { jitter: 0.5 })).to.equal(undefined);
    expect(waitAfterAttempt(9, { jitter: 0.5, retryAfterSeconds: 60 })).to.equal(undefined);
    expect(deliveryRules.attempts).to.equal(8);
  });

  it('takes about 27 hours from the first to the last attempt', () => {
    const total = waits.reduce((sum, _, index) => sum + (waitAfterAttempt(index + 1, { jitter: 0.5 }) ?? 0), 0);
    expect(total / hour).to.be.within(27, 28);
  });

  it('waits whole milliseconds, within 10 % of the value in the table', () => {
    fc.assert(
      fc.property(attempts, jitters, (attempt, jitter) => {
        const wait = waitAfterAttempt(attempt, { jitter }) ?? Number.NaN;
        const base = waits[attempt - 1] ?? Number.NaN;
        expect(Number.isInteger(wait)).to.equal(true);
        expect(wait).to.be.within(Math.round(base * 0.9), Math.round(base * 1.1));
      }),
    );
  });

  it('throws RangeError for an invalid attempt number or jitter', () => {
    for (const attempt of [0, -1, 1.5, Number.NaN]) {
      expect(() => waitAfterAttempt(attempt, { jitter: 0.5 }), `attempt ${attempt}`).to.throw(RangeError);
    }
    for (const jitter of [-0.1, 1, Number.NaN]) {
      expect(() => waitAfterAttempt(1, { jitter }), `jitter ${jitter}`).to.throw(RangeError);
    }
  });
});

describe('a wait with Retry-After (DEL-2)', () => {
  it('is lengthened to the value of Retry-After if the planned wait is shorter', () => {
    expect(waitAfterAttempt(1, { jitter: 0, retryAfterSeconds: 60 })).to.equal(60_000);
  });

  it('is not changed if the planned wait is longer than Retry-After', () => {
    expect(waitAfterAttempt(4, { jitter: 0, retryAfterSeconds: 60 })).to.equal(2 * hour * 0.9);
    expect(waitAfterAttempt(1, { jitter: 0, retryAfterSeconds: 0 })).to.equal(4_500);
  });

  it('is lengthened to at most 10 hours', () => {
    expect(waitAfterAttempt(1, { jitter: 0, retryAfterSeconds: 36_000 })).to.equal(10 * hour);
    expect(waitAfterAttempt(1, { jitter: 0, retryAfterSeconds: 36_001 })).to.equal(10 * hour);
  });

  it('is the longer of the planned wait and Retry-After, and at most 11 hours', () => {
    fc.assert(
      fc.property(attempts, jitters, fc.nat({ max: 200_000 }), (attempt, jitter, retryAfterSeconds) => {
        const plain = waitAfterAttempt(attempt, { jitter }) ?? Number.NaN;
        const wait = waitAfterAttempt(attempt, { jitter, retryAfterSeconds }) ?? Number.NaN;
        expect(wait).to.equal(Math.max(plain, Math.min(retryAfterSeconds, 36_000) * 1_000));
        expect(wait).to.be.at.most(11 * hour);
      }),
    );
  });
});

describe('the value of Retry-After (DEL-2)', () => {
  const now = Date.UTC(2030, 10, 6, 8, 49, 0);
  const cases: readonly (readonly [number, string | undefined, number | undefined])[] = [
    [429, '120', 120],
    [503, '120', 120],
    [503, '0', 0],
    [429, '36000', 36_000],
    [429, '36001', 36_000],
    [429, '9'.repeat(400), 36_000],
    [429, undefined, undefined],
    [429, '', undefined],
    [429, '-1', undefined],
    [429, '+5', undefined],
    [429, '5.5', undefined],
    [429, '1e3', undefined],
    [429, '0x10', undefined],
    [429, 'soon', undefined],
    [429, '120, 240', undefined],
    // the three formats of an HTTP date
    [429, 'Wed, 06 Nov 2030 08:49:37 GMT', 37],
    [429, 'Wednesday, 06-Nov-30 08:49:37 GMT', 37],
    [429, 'Wed Nov  6 08:49:37 2030', 37],
    [503, 'Wed, 06 Nov 2030 18:49:00 GMT', 36_000],
    [503, 'Wed, 06 Nov 2030 18:49:01 GMT', 36_000],
    [503, 'Fri, 31 Dec 2049 23:59:59 GMT', 36_000],
    [503, 'Wed, 06 Nov 2030 08:49:00 GMT', undefined],
    [503, 'Sun, 06 Nov 1994 08:49:37 GMT', undefined],
    [503, 'Wed, 99 Nov 2030 08:49:37 GMT', undefined],
    [503, '2030-11-06T08:49:37Z', undefined],
    // days and times that do not exist
    [503, 'Sun, 31 Feb 2031 08:49:37 GMT', undefined],
    [429, 'Sat, 29 Feb 2031 00:00:00 GMT', undefined],
    [429, 'Thu, 29 Feb 2032 00:00:00 GMT', 36_000],
    [429, 'Thu, 00 Nov 2031 00:00:00 GMT', undefined],
    [429, 'Sunday, 31-Nov-30 08:49:37 GMT', undefined],
    [429, 'Sun Feb 31 08:49:37 2031', undefined],
    [429, 'Wed, 06 Nov 2030 24:00:00 GMT', undefined],
    [429, 'Wed, 06 Nov 2030 08:60:00 GMT', undefined],
    [429, 'Wed, 06 Nov 2030 08:49:61 GMT', undefined],
    [429, 'Wed, 06 Nov 2030 08:49:60 GMT', 60],
    [429, 'Wed, 06 Foo 2030 08:49:37 GMT', undefined],
    // A year with two digits means a year at most 50 years in the future.
    [429, 'Sunday, 06-Nov-80 08:49:37 GMT', 36_000],
    [429, 'Sunday, 06-Nov-81 08:49:37 GMT', undefined],
    // other statuses
    [200, '120', undefined],
    [301, '120', undefined],
    [400, '120', undefined],
    [500, '120', undefined],
    [502, '120', undefined],
  ];
  for (const [status, header, expected] of cases) {
    it(`is ${expected ?? 'ignored'} for ${status} with ${JSON.stringify(header)?.slice(0, 40)}`, () => {
      expect(honouredRetryAfter(status, header, now)).to.equal(expected);
    });
  }

  it('is the time from now until a date, rounded up to a second', () => {
    expect(honouredRetryAfter(429, 'Wed, 06 Nov 2030 08:49:37 GMT', now + 1)).to.equal(37);
    expect(honouredRetryAfter(429, 'Wed, 06 Nov 2030 08:49:37 GMT', now + 1_000)).to.equal(36);
  });

  it('is ignored, or is a whole number of seconds up to 10 hours', () => {
    fc.assert(
      fc.property(fc.constantFrom(429, 503), fc.string(), (status, header) => {
        const seconds = honouredRetryAfter(status, header, now) ?? 0;
        expect(Number.isInteger(seconds) && seconds >= 0 && seconds <= 36_000).to.equal(true);
      }),
    );
  });
});
