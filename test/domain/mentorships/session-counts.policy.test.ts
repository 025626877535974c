import { expect } from 'chai';
import fc from 'fast-check';
import { countedParts } from '../../../domain/mentorships/session-counts.policy.ts';
import { shownStatus } from '../../../domain/mentorships/sessions.policy.ts';

const minute = 60_000;
const day = 86_400_000;
const now = new Date('2026-03-02T10:07:30.500Z');

/** At most three days from now, including exact midnights and now. */
const time = fc.oneof(
  fc.integer({ min: -3 * day, max: 3 * day }).map((ms) => new Date(now.getTime() + ms)),
  fc.integer({ min: -3, max: 3 }).map((days) => new Date((Math.floor(now.getTime() / day) + days) * day)),
  fc.constant(now),
);
const session = fc.record({ startsAt: time, minutes: fc.oneof(fc.integer({ min: 15, max: 240 }), fc.constant(240)) });

describe('the time ranges of a session count', () => {
  it('contain each matching session once', () => {
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

  it('are the whole days of a range, and a part before and after', () => {
    const [since, until] = [new Date('2026-02-01T12:00:00Z'), new Date('2026-02-04T06:00:00Z')];
    const second = Date.parse('2026-02-02T00:00:00Z') / day;
    expect(countedParts({ since, until }, now)).to.deep.equal({
      days: { first: second, last: second + 1 },
      ends: [
        { from: since.getTime(), to: second * day },
        { from: (second + 2) * day, to: until.getTime() },
      ],
    });
  });

  it('are a single period if the range contains only one midnight', () => {
    const [since, until] = [new Date('2026-03-05T12:00:00Z'), new Date('2026-03-06T12:00:00Z')];
    const ends = [{ from: since.getTime(), to: until.getTime() }];
    expect(countedParts({ since, until }, now)).to.deep.equal({ days: undefined, ends });
  });

  it('end now for completed sessions', () => {
    const today = Math.floor(now.getTime() / day);
    expect(countedParts({ status: 'completed' }, now)).to.deep.equal({
      days: { first: 0, last: today - 1 },
      ends: [{ from: today * day, to: now.getTime() }],
    });
    const justAfterMidnight = new Date(today * day + 1);
    expect(countedParts({ status: 'completed' }, justAfterMidnight)).to.deep.equal({
      days: { first: 0, last: today - 2 },
      ends: [{ from: (today - 1) * day, to: justAfterMidnight.getTime() }],
    });
  });

  it('begin one maximum session length ago for booked sessions', () => {
    const tomorrow = Math.floor(now.getTime() / day) + 1;
    expect(countedParts({ status: 'booked' }, now)).to.deep.equal({
      days: { first: tomorrow, last: Number.POSITIVE_INFINITY },
      ends: [{ from: now.getTime() - 240 * minute, to: tomorrow * day }],
    });
  });

  it('cover all time without a filter', () => {
    expect(countedParts({}, now)).to.deep.equal({ days: { first: 0, last: Number.POSITIVE_INFINITY }, ends: [] });
    const nothing = { days: undefined, ends: [] };
    expect(countedParts({ since: now, until: now }, now)).to.deep.equal(nothing);
    expect(countedParts({ status: 'booked', until: new Date(now.getTime() - day) }, now)).to.deep.equal(nothing);
  });
});
