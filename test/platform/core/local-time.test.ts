import { expect } from 'chai';
import fc from 'fast-check';
import { localDateOf, localMonthOf, nextMinuteOfDay, nextOpening } from '../../../platform/core/time/local-time.ts';

const at = (minute: string, days: number, zone: string, now: string) => {
  const [hour = 0, rest = 0] = minute.split(':').map(Number);
  return nextMinuteOfDay(hour * 60 + rest, days, zone, new Date(now)).toISOString();
};

describe('the next local time of day of a club (DEC-47, AUTO-10)', () => {
  it('is today if it has not passed, and otherwise tomorrow', () => {
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
    it(`is the first instant after a gap of the clocks: ${zone}`, () => {
      expect(at(minute, 0, zone, now)).to.equal(instant);
    });

  for (const [zone, minute, now, instant] of [
    ['Europe/Berlin', '02:30', '2026-10-24T23:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['America/New_York', '01:30', '2026-11-01T04:30:00Z', '2026-11-01T05:30:00.000Z'],
    ['Australia/Lord_Howe', '01:45', '2026-04-04T13:00:00Z', '2026-04-04T14:45:00.000Z'],
  ] as const)
    it(`is the first instant if the clocks repeat the time of day: ${zone}`, () => {
      expect(at(minute, 0, zone, now)).to.equal(instant);
    });

  it('is tomorrow between the two instants of a repeated time of day', () => {
    expect(at('02:30', 0, 'Europe/Berlin', '2026-10-25T00:45:00Z')).to.equal('2026-10-26T01:30:00.000Z');
  });
});

describe('the next opening of a daily time window', () => {
  const minute = 60_000;
  const minuteOf = (text: string) => {
    const [hours = 0, rest = 0] = text.split(':').map(Number);
    return hours * 60 + rest;
  };
  const cases = [
    ['an open window', '09:00', '18:00', 'Europe/Berlin', '2026-01-10T09:00:00Z', '2026-01-10T09:00:00.000Z'],
    ['a time before the window', '09:00', '18:00', 'Europe/Berlin', '2026-01-10T07:00:00Z', '2026-01-10T08:00:00.000Z'],
    ['a time after the window', '09:00', '18:00', 'Europe/Berlin', '2026-01-10T17:00:00Z', '2026-01-11T08:00:00.000Z'],
    ['a window over midnight', '22:00', '06:00', 'Asia/Tokyo', '2026-01-10T03:00:00Z', '2026-01-10T13:00:00.000Z'],
    [
      'the second occurrence of an hour that the clocks repeat',
      '01:30',
      '05:00',
      'America/New_York',
      '2027-11-07T06:10Z',
      '2027-11-07T06:30:00.000Z',
    ],
    [
      'the first occurrence of an hour that the clocks repeat',
      '01:30',
      '05:00',
      'America/New_York',
      '2027-11-07T05:10Z',
      '2027-11-07T05:30:00.000Z',
    ],
    [
      'a window that begins in a clock gap',
      '02:30',
      '05:00',
      'America/New_York',
      '2027-03-14T05:00Z',
      '2027-03-14T07:00:00.000Z',
    ],
    [
      'a window that begins in a clock gap of half an hour',
      '02:15',
      '05:00',
      'Australia/Lord_Howe',
      '2026-10-03T14:00Z',
      '2026-10-03T15:30:00.000Z',
    ],
    [
      'a window inside a clock gap',
      '02:15',
      '02:45',
      'America/New_York',
      '2027-03-14T05:00Z',
      '2027-03-15T06:15:00.000Z',
    ],
    [
      'midnight inside a clock gap',
      '00:00',
      '05:00',
      'America/Santiago',
      '2026-09-06T03:00Z',
      '2026-09-06T04:00:00.000Z',
    ],
  ] as const;
  for (const [what, from, to, zone, now, opening] of cases)
    it(`is right for ${what}`, () =>
      expect(nextOpening({ from: minuteOf(from), to: minuteOf(to) }, zone, new Date(now)).toISOString()).to.equal(
        opening,
      ));

  it('is the first minute at which the local clock is inside the window', () => {
    const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca', 'America/Santiago'];
    const changes = ['2026-03-29', '2026-10-25', '2026-03-08', '2026-11-01', '2026-04-05', '2026-10-04', '2026-09-06'];
    const clocks = new Map(
      zones.map((zone) => {
        const options = { timeZone: zone, hour: '2-digit', minute: '2-digit' } as const;
        return [zone, new Intl.DateTimeFormat('en-GB', options)] as const;
      }),
    );
    const minuteAt = (zone: string, time: number) => minuteOf(clocks.get(zone)?.format(time) ?? '');
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom(...changes),
        fc.nat({ max: 2_879 }),
        fc.nat({ max: 1_439 }),
        fc.integer({ min: 1, max: 600 }),
        (zone, day, offset, from, length) => {
          const window = { from, to: (from + length) % 1_440 };
          const isOpen = (time: number) => {
            const clock = minuteAt(zone, time);
            if (window.from < window.to) return clock >= window.from && clock < window.to;
            return clock >= window.from || clock < window.to;
          };
          const now = Date.parse(`${day}T00:00Z`) - 1_440 * minute + offset * minute;
          let first = now;
          while (!isOpen(first)) first += minute;
          expect(nextOpening(window, zone, new Date(now)).getTime()).to.equal(first);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('local dates and 8:00 of each date (COMM-17)', () => {
  const minute = 60_000;

  for (const [zone, from, days, mornings] of [
    [
      'Europe/Berlin',
      '2026-03-27T23:00:00Z',
      3,
      { '2026-03-28': '2026-03-28T07:00', '2026-03-29': '2026-03-29T06:00', '2026-03-30': '2026-03-30T06:00' },
    ],
    [
      'America/New_York',
      '2026-10-31T04:00:00Z',
      3,
      { '2026-10-31': '2026-10-31T12:00', '2026-11-01': '2026-11-01T13:00', '2026-11-02': '2026-11-02T13:00' },
    ],
    [
      'Australia/Lord_Howe',
      '2026-10-02T13:30:00Z',
      2,
      { '2026-10-03': '2026-10-02T21:30', '2026-10-04': '2026-10-03T21:00' },
    ],
    [
      'Asia/Kathmandu',
      '2026-04-30T18:15:00Z',
      2,
      { '2026-05-01': '2026-05-01T02:15', '2026-05-02': '2026-05-02T02:15' },
    ],
    // This zone skips a day in 1993, and repeats a day in 1969.
    [
      'Pacific/Kwajalein',
      '1993-08-20T12:00:00Z',
      2,
      { '1993-08-20': '1993-08-20T20:00', '1993-08-22': '1993-08-21T20:00' },
    ],
    [
      'Pacific/Kwajalein',
      '1969-09-29T13:00:00Z',
      3,
      { '1969-09-30': '1969-09-29T21:00', '1969-10-01': '1969-10-01T20:00' },
    ],
  ] as const)
    it(`have no gap and no repetition across clock changes: ${zone}, ${from.slice(0, 10)}`, () => {
      const found: Record<string, string> = {};
      const ends: Record<string, string> = {};
      for (let now = Date.parse(from); now < Date.parse(from) + days * 86_400_000; now += 15 * minute) {
        const { date, at: begins, endsAt } = localDateOf(480, zone, new Date(now));
        if (begins.getTime() <= now) found[date] ??= new Date(now).toISOString().slice(0, 16);
        expect((ends[date] ??= endsAt.toISOString()), date).to.equal(endsAt.toISOString());
        expect(endsAt.getTime()).to.be.above(now);
      }
      expect(found).to.deep.equal(mornings);
    });

  it('have no gap before the next date, even if the clocks skip midnight', () => {
    expect(localDateOf(480, 'America/Sao_Paulo', new Date('2018-11-03T15:00:00Z'))).to.deep.equal({
      date: '2018-11-03',
      at: new Date('2018-11-03T11:00:00Z'),
      endsAt: new Date('2018-11-04T03:00:00Z'),
    });
    expect(localDateOf(480, 'Pacific/Apia', new Date('2011-12-29T20:00:00Z')).endsAt).to.deep.equal(
      new Date('2011-12-30T10:00:00Z'),
    );
  });
});

describe('the calendar month of a club (DEC-154)', () => {
  const monthAt = (zone: string, now: string) => {
    const { month, startsAt, endsAt } = localMonthOf(zone, new Date(now));
    return [month, startsAt.toISOString(), endsAt.toISOString()];
  };

  for (const [zone, now, month] of [
    ['UTC', '2026-03-31T23:59:59.999Z', ['2026-03-01', '2026-03-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z']],
    [
      'Pacific/Auckland',
      '2026-03-31T11:00:00Z',
      ['2026-04-01', '2026-03-31T11:00:00.000Z', '2026-04-30T12:00:00.000Z'],
    ],
    ['Europe/Berlin', '2026-12-31T23:00:00Z', ['2027-01-01', '2026-12-31T23:00:00.000Z', '2027-01-31T23:00:00.000Z']],
    // The clocks skip the midnight at the beginning of the month.
    ['Africa/Cairo', '1982-10-01T12:00:00Z', ['1982-10-01', '1982-09-30T21:00:00.000Z', '1982-10-31T22:00:00.000Z']],
    // This zone skips a day, but the month still ends at the midnight after its last day.
    ['Pacific/Apia', '2011-12-29T20:00:00Z', ['2011-12-01', '2011-12-01T10:00:00.000Z', '2011-12-31T10:00:00.000Z']],
  ] as const)
    it(`begins and ends at local midnight: ${zone}, ${now}`, () => {
      expect(monthAt(zone, now)).to.deep.equal(month);
    });

  it('never overlaps another month, even if the clocks repeat midnight', () => {
    const months = ['2009-11-01T02:59:59Z', '2009-11-01T03:00:00Z', '2009-11-01T03:30:00Z'].map((now) =>
      monthAt('America/Goose_Bay', now),
    );
    const [october, november] = ['2009-10-01T03:00:00.000Z', '2009-11-01T03:00:00.000Z'];
    expect(months).to.deep.equal([
      ['2009-10-01', october, november],
      ['2009-11-01', november, '2009-12-01T04:00:00.000Z'],
      ['2009-11-01', november, '2009-12-01T04:00:00.000Z'],
    ]);
  });

  for (const zone of ['Europe/Berlin', 'America/Goose_Bay', 'Africa/Cairo', 'Pacific/Apia', 'Africa/Casablanca'])
    it(`begins exactly at the end of the previous month: ${zone}, 2008 to 2013`, () => {
      let end = localMonthOf(zone, new Date('2008-01-15T12:00:00Z')).endsAt;
      for (let months = 0; months < 12 * 6; months++) {
        const next = localMonthOf(zone, end);
        const before = localMonthOf(zone, new Date(end.getTime() - 1));
        expect([before.endsAt, next.startsAt], next.month).to.deep.equal([end, end]);
        expect(next.endsAt.getTime(), next.month).to.be.greaterThan(end.getTime());
        end = next.endsAt;
      }
    });
});
