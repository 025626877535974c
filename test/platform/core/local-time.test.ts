import { expect } from 'chai';
import { nextMinuteOfDay } from '../../../platform/core/local-time.ts';

const at = (minute: string, days: number, zone: string, now: string) => {
  const [hour = 0, rest = 0] = minute.split(':').map(Number);
  return nextMinuteOfDay(hour * 60 + rest, days, zone, new Date(now)).toISOString();
};

describe('a time of the club’s day (DEC-47, AUTO-10)', () => {
  it('is today where it is not past, else tomorrow, and after the days that are skipped', () => {
    expect(at('09:00', 0, 'Europe/Berlin', '2026-01-10T08:00:00Z')).to.equal('2026-01-10T08:00:00.000Z');
    expect(at('09:00', 0, 'Europe/Berlin', '2026-01-10T08:00:00.001Z')).to.equal('2026-01-11T08:00:00.000Z');
    expect(at('09:00', 2, 'Europe/Berlin', '2026-01-10T07:00:00Z')).to.equal('2026-01-12T08:00:00.000Z');
    expect(at('00:00', 0, 'Asia/Tokyo', '2026-01-10T23:00:00Z')).to.equal('2026-01-11T15:00:00.000Z');
  });

  for (const [zone, minute, now, instant] of [
    ['Europe/Berlin', '02:30', '2026-03-28T23:30:00Z', '2026-03-29T01:00:00.000Z'],
    ['America/New_York', '02:30', '2026-03-08T05:30:00Z', '2026-03-08T07:00:00.000Z'],
    ['Australia/Lord_Howe', '02:15', '2026-10-03T14:00:00Z', '2026-10-03T15:30:00.000Z'],
  ] as const)
    it(`is the first instant after the gap where clocks are set forward over it: ${zone}`, () => {
      expect(at(minute, 0, zone, now)).to.equal(instant);
    });

  for (const [zone, minute, now, instant] of [
    ['Europe/Berlin', '02:30', '2026-10-24T23:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['America/New_York', '01:30', '2026-11-01T04:30:00Z', '2026-11-01T05:30:00.000Z'],
    ['Australia/Lord_Howe', '01:45', '2026-04-04T13:00:00Z', '2026-04-04T14:45:00.000Z'],
  ] as const)
    it(`is the first of two where clocks are set back over it: ${zone}`, () => {
      expect(at(minute, 0, zone, now)).to.equal(instant);
    });

  it('is tomorrow between the two: the first of them is past', () => {
    expect(at('02:30', 0, 'Europe/Berlin', '2026-10-25T00:45:00Z')).to.equal('2026-10-26T01:30:00.000Z');
  });
});
