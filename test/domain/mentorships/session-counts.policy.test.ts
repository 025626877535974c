import { expect } from 'chai';
import fc from 'fast-check';
import { countedParts } from '../../../domain/mentorships/session-counts.policy.ts';
import { shownStatus } from '../../../domain/mentorships/sessions.policy.ts';

const minute = 60_000;
const day = 86_400_000;
const now = new Date('2026-03-02T10:07:30.500Z');

/** Within some days of now, where days begin and end among them. */
const time = fc.oneof(
  fc.integer({ min: -3 * day, max: 3 * day }).map((ms) => new Date(now.getTime() + ms)),
  fc.integer({ min: -3, max: 3 }).map((days) => new Date((Math.floor(now.getTime() / day) + days) * day)),
  fc.constant(now),
);
const session = fc.record({ startsAt: time, minutes: fc.oneof(fc.integer({ min: 15, max: 240 }), fc.constant(240)) });

describe('days that are counted as a whole, of sessions', () => {
  it('and the ends beside them hold each session that fits, once, and of whole days no other', () => {
    const statuses = [undefined, 'booked', 'completed', 'canceled'] as const;
    const filters = fc.record({
      status: fc.constantFrom(...statuses),
      since: fc.option(time, { nil: undefined }),
      until: fc.option(time, { nil: undefined }),
    });
    fc.assert(
      fc.property(filters, session, (filter, { startsAt, minutes }) => {
        const endsAt = new Date(startsAt.getTime() + minutes * minute);
        const stored = filter.status === 'canceled' ? 'canceled' : 'booked';
        const fits =
          (filter.status === undefined || shownStatus({ status: stored, endsAt }, now) === filter.status) &&
          (filter.since === undefined || startsAt >= filter.since) &&
          (filter.until === undefined || startsAt < filter.until);
        const { days, ends } = countedParts(filter, now);
        const its = Math.floor(startsAt.getTime() / day);
        const inDays = days !== undefined && its >= days.first && its <= days.last ? 1 : 0;
        const inEnds = ends.filter(({ from, to }) => startsAt.getTime() >= from && startsAt.getTime() < to).length;
        if (inDays) expect(fits).to.equal(true);
        if (fits) expect(inDays + inEnds).to.equal(1);
        else expect(inDays).to.equal(0);
      }),
      { numRuns: 2_000 },
    );
  });

  it('are all there are where nothing is asked for, and none for a time that is over before it begins', () => {
    expect(countedParts({}, now)).to.deep.equal({ days: { first: 0, last: Number.POSITIVE_INFINITY }, ends: [] });
    const nothing = { days: undefined, ends: [] };
    expect(countedParts({ since: now, until: now }, now)).to.deep.equal(nothing);
    expect(countedParts({ status: 'booked', until: new Date(now.getTime() - day) }, now)).to.deep.equal(nothing);
  });
});
