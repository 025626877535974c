import { expect } from 'chai';
import { changeOfEnd, enrollmentStatus, periodOf } from '../../../../domain/access/enrollments/enrollments.policy.ts';

const now = new Date('2026-03-01T12:00:00.000Z');
const dayMs = 86_400_000;
const after = (ms: number) => new Date(now.getTime() + ms);

describe('the status of an enrollment (EVT-6)', () => {
  const times = { startsAt: after(-dayMs), endsAt: null, revokedAt: null };

  it('is active until its end, or forever if it has no end', () => {
    expect(enrollmentStatus(times, now)).to.equal('active');
    expect(enrollmentStatus({ ...times, endsAt: after(1) }, now)).to.equal('active');
    expect(enrollmentStatus({ ...times, endsAt: now }, now)).to.equal('expired');
    expect(enrollmentStatus({ ...times, endsAt: after(-1) }, now)).to.equal('expired');
  });

  it('stays revoked even after the end has passed', () => {
    expect(enrollmentStatus({ ...times, revokedAt: now }, now)).to.equal('revoked');
    expect(enrollmentStatus({ ...times, endsAt: after(-1), revokedAt: now }, now)).to.equal('revoked');
  });
});

describe('a change to the end of an access (EVT-7)', () => {
  const [sooner, later] = [after(1), after(2)];
  for (const [before, to, fact] of [
    [sooner, later, 'access.extended'],
    [later, sooner, 'access.shortened'],
    [sooner, null, 'access.extended'],
    [null, sooner, 'access.shortened'],
    [sooner, new Date(sooner), undefined],
    [null, null, undefined],
  ] as const)
    it(`records ${fact ?? 'no fact'} for a change from ${before?.getTime() ?? 'none'} to ${to?.getTime() ?? 'none'}`, () => {
      expect(changeOfEnd(before, to)).to.equal(fact);
    });
});

describe('the period of a new access', () => {
  const open = { accessDays: null };
  const cohort = { startsAt: after(dayMs), endsAt: after(3 * dayMs) };

  it('is the requested period, even if the request overrides the delivery’s limit of days', () => {
    const requested = { startsAt: after(5), endsAt: null };
    expect(periodOf(requested, { accessDays: 3 }, cohort, now)).to.deep.equal(requested);
    expect(periodOf({ endsAt: after(7) }, { accessDays: 3 }, undefined, now)).to.deep.equal({
      startsAt: now,
      endsAt: after(7),
    });
  });

  it('begins when the cohort begins, but never in the past', () => {
    expect(periodOf({}, open, cohort, now)).to.deep.equal(cohort);
    expect(periodOf({}, open, { ...cohort, startsAt: after(-1) }, now).startsAt).to.deep.equal(now);
    expect(periodOf({}, open, { startsAt: null, endsAt: null }, now)).to.deep.equal({ startsAt: now, endsAt: null });
    expect(periodOf({}, open, undefined, now)).to.deep.equal({ startsAt: now, endsAt: null });
  });

  it('ends after the delivery’s number of days, or when its cohort ends', () => {
    expect(periodOf({}, { accessDays: 2 }, cohort, now).endsAt).to.deep.equal(after(3 * dayMs));
    expect(periodOf({}, { accessDays: 2 }, undefined, now).endsAt).to.deep.equal(after(2 * dayMs));
    expect(periodOf({ startsAt: after(dayMs) }, open, cohort, now).endsAt).to.deep.equal(cohort.endsAt);
  });
});
