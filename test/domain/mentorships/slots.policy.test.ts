/** Compares the possible beginnings of sessions (MENT-4) with a simple program that checks every minute. */
import { expect } from 'chai';
import fc from 'fast-check';
import { faultOfHours, isOffered, slotsBetween, type Offer } from '../../../domain/mentorships/slots.policy.ts';
import { eachCase } from '../../toolkit/assert/each-case.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const offer = (more: Partial<Offer>): Offer => ({
  timeZone: 'Europe/Berlin',
  weeklyHours: [],
  exceptions: [],
  durationMinutes: 60,
  bufferMinutes: 0,
  noticeMinutes: 0,
  horizonDays: 180,
  ...more,
});
const everyDay = (from: string, to: string) => [1, 2, 3, 4, 5, 6, 7].map((weekday) => ({ weekday, from, to }));
const slotsOf = (one: Offer, from: string, to: string) =>
  slotsBetween(one, new Date(from), new Date(to)).map((at) => at.toISOString().slice(5, 16));

/** Local time, computed only with Intl. */
const clocks = new Map<string, Intl.DateTimeFormat>();
function clockOf(at: number, timeZone: string): { date: string; minute: number; weekday: number } {
  const format =
    clocks.get(timeZone) ??
    new Intl.DateTimeFormat('en-CA', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    });
  clocks.set(timeZone, format);
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const date = `${part['year']}-${part['month']}-${part['day']}`;
  return {
    date,
    minute: Number(part['hour']) * 60 + Number(part['minute']),
    weekday: new Date(`${date}T00:00:00Z`).getUTCDay() || 7,
  };
}

const minuteOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** Applies the rule to every minute. */
function oracle(one: Offer, from: number, to: number): number[] {
  const minutes: { at: number; date: string; minute: number; weekday: number }[] = [];
  for (let at = from - 2 * dayMs; at < to + 2 * dayMs; at += minuteMs)
    minutes.push({ at, ...clockOf(at, one.timeZone) });
  const days = new Map<string, number>();
  for (const { date, weekday } of minutes) days.set(date, weekday);
  const found = new Set<number>();
  for (const [date, weekday] of days) {
    const exception = one.exceptions.find((candidate) => candidate.date === date);
    for (const hours of exception ? exception.hours : one.weeklyHours.filter((other) => other.weekday === weekday)) {
      const [opensAt, closesAt] = [minuteOf(hours.from), minuteOf(hours.to)];
      const showsFrom = (time: number) =>
        minutes.find((now) => now.date > date || (now.date === date && now.minute >= time))?.at ?? Infinity;
      const closes = showsFrom(closesAt);
      const starts = new Set<number>();
      for (const now of minutes) {
        if (now.date !== date || starts.has(now.minute)) continue;
        starts.add(now.minute);
        const isOnGrid = (now.minute - opensAt) % (one.durationMinutes + one.bufferMinutes) === 0;
        const isOpen = now.minute >= opensAt && now.minute < closesAt;
        if (isOpen && isOnGrid && now.at + one.durationMinutes * minuteMs <= closes) found.add(now.at);
      }
    }
  }
  return [...found].filter((at) => at >= from && at < to).toSorted((a, b) => a - b);
}

describe('the slots of a mentorship', () => {
  it('follow each other from the opening time, and end before the closing time', () => {
    const one = offer({
      weeklyHours: [{ weekday: 1, from: '09:00', to: '12:00' }],
      durationMinutes: 45,
      bufferMinutes: 15,
    });
    expect(slotsOf(one, '2026-03-02T00:00Z', '2026-03-03T00:00Z')).to.deep.equal([
      '03-02T08:00',
      '03-02T09:00',
      '03-02T10:00',
    ]);
    expect(slotsOf(one, '2026-03-02T09:00Z', '2026-03-02T10:00Z')).to.deep.equal(['03-02T09:00']);
    const longer = { ...one, durationMinutes: 55 };
    expect(slotsOf(longer, '2026-03-02T00:00Z', '2026-03-03T00:00Z')).to.deep.equal(['03-02T08:00', '03-02T09:10']);
  });

  it('never begin in an hour that the clocks skip', () => {
    const nights = offer({ weeklyHours: everyDay('01:00', '04:00') });
    expect(slotsOf(nights, '2026-03-28T23:00Z', '2026-03-29T10:00Z')).to.deep.equal(['03-29T00:00', '03-29T01:00']);
    expect(slotsOf(nights, '2026-10-24T22:00Z', '2026-10-25T10:00Z')).to.deep.equal([
      '10-24T23:00',
      '10-25T00:00',
      '10-25T02:00',
    ]);
    const fromHalfPast = offer({ weeklyHours: everyDay('00:30', '04:00') });
    expect(slotsOf(fromHalfPast, '2026-10-24T22:00Z', '2026-10-25T10:00Z')).to.deep.equal([
      '10-24T22:30',
      '10-24T23:30',
      '10-25T00:30',
    ]);
  });

  it('begin at midnight, even if the clocks then go back to the previous day', () => {
    // At 00:01 on 7 November 2010 the clocks of St. John's went back to 23:01 on the previous day.
    const nights = offer({
      timeZone: 'America/St_Johns',
      weeklyHours: everyDay('00:00', '01:00'),
      durationMinutes: 30,
    });
    expect(slotsOf(nights, '2010-11-07T02:00Z', '2010-11-07T03:00Z')).to.deep.equal(['11-07T02:30']);
  });

  it('use a weekday’s hours only on that weekday', () => {
    const one = offer({
      timeZone: 'UTC',
      weeklyHours: [
        { weekday: 1, from: '14:00', to: '15:00' },
        { weekday: 7, from: '10:00', to: '11:00' },
        { weekday: 1, from: '09:00', to: '10:00' },
      ],
    });
    expect(slotsOf(one, '2026-03-02T00:00Z', '2026-03-09T00:00Z')).to.deep.equal([
      '03-02T09:00',
      '03-02T14:00',
      '03-08T10:00',
    ]);
  });

  it('follow the hours of a date instead of its weekday', () => {
    const exceptions = [
      { date: '2026-03-02', hours: [] },
      { date: '2026-03-03', hours: [{ from: '23:00', to: '24:00' }] },
    ];
    const one = offer({ weeklyHours: everyDay('09:00', '10:00'), exceptions });
    expect(slotsOf(one, '2026-03-02T00:00Z', '2026-03-05T00:00Z')).to.deep.equal(['03-03T22:00', '03-04T08:00']);
  });

  it('agree with a program that checks every minute', function () {
    this.timeout(30_000);
    // Each zone changes its clocks in another way: by an hour, half an hour or a day, at midnight or over midnight.
    const changes: readonly (readonly [zone: string, near: string])[] = [
      ['Europe/Berlin', '2026-03-29T00:00Z'],
      ['Europe/Berlin', '2026-10-25T00:00Z'],
      ['America/New_York', '2026-03-08T06:00Z'],
      ['America/Havana', '2026-11-01T04:00Z'],
      ['Africa/Cairo', '2026-04-23T21:00Z'],
      ['America/Sao_Paulo', '2018-02-18T02:00Z'],
      ['Australia/Lord_Howe', '2026-04-04T14:00Z'],
      ['Australia/Lord_Howe', '2026-10-03T15:00Z'],
      ['Pacific/Apia', '2011-12-30T09:00Z'],
      ['Asia/Kathmandu', '2026-05-05T00:00Z'],
    ];
    const time = fc.integer({ min: 0, max: 96 }).map((quarter) => quarter * 15);
    const written = (minute: number) =>
      `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
    const hours = fc
      .tuple(time, time)
      .filter(([from, to]) => from < to)
      .map(([from, to]) => ({ from: written(from), to: written(to) }));
    fc.assert(
      fc.property(
        fc.constantFrom(...changes),
        hours,
        fc.option(hours, { nil: undefined }),
        fc.integer({ min: 15, max: 240 }),
        fc.integer({ min: 0, max: 60 }),
        ([timeZone, near], weekly, dated, durationMinutes, bufferMinutes) => {
          const at = Date.parse(near);
          const exceptions = dated === undefined ? [] : [{ date: clockOf(at, timeZone).date, hours: [dated] }];
          const weeklyHours = everyDay(weekly.from, weekly.to);
          const one = offer({ timeZone, weeklyHours, exceptions, durationMinutes, bufferMinutes });
          const [from, to] = [at - dayMs, at + dayMs];
          const found = slotsBetween(one, new Date(from), new Date(to)).map((slot) => slot.getTime());
          expect(found).to.deep.equal(oracle(one, from, to));
        },
      ),
      { numRuns: 25 },
    );
  });

  it('are offered from now plus the minimum notice until now plus the horizon', async () => {
    const one = offer({ timeZone: 'UTC', weeklyHours: everyDay('00:00', '24:00'), noticeMinutes: 120, horizonDays: 2 });
    const now = new Date('2026-03-02T08:00:00Z');
    await eachCase(
      [
        ['2026-03-02T10:00:00Z', true],
        ['2026-03-02T09:00:00Z', false],
        ['2026-03-02T10:30:00Z', false],
        ['2026-03-04T08:00:00Z', true],
        ['2026-03-04T09:00:00Z', false],
        ['2026-03-01T10:00:00Z', false],
      ] as const,
      ([at, expected]) => expect(isOffered(one, new Date(at), now), at).to.equal(expected),
    );
  });

  it('report reversed hours, overlapping hours and duplicate dates', () => {
    const monday = (from: string, to: string) => ({ weekday: 1, from, to });
    const of = (weeklyHours: Offer['weeklyHours'], exceptions: Offer['exceptions'] = []) =>
      faultOfHours({ weeklyHours, exceptions });
    expect(of([monday('09:00', '12:00'), monday('12:00', '24:00')])).to.equal(undefined);
    expect(of([monday('12:00', '12:00')])).to.match(/^weekly_hours: .*must end after they begin/);
    expect(of([monday('09:00', '12:00'), monday('11:45', '13:00')])).to.match(/^weekly_hours: .*overlap/);
    expect(of([{ ...monday('12:00', '12:00'), weekday: 7 }])).to.match(/^weekly_hours: .*must end after they begin/);
    expect(of([monday('09:00', '12:00'), { ...monday('09:00', '12:00'), weekday: 2 }])).to.equal(undefined);
    expect(of([monday('12:00', '13:00'), monday('09:00', '12:00')])).to.equal(undefined);
    expect(of([monday('12:00', '13:00'), monday('09:00', '12:15')])).to.match(/^weekly_hours: .*overlap/);
    const open = (date: string) => ({ date, hours: [{ from: '09:00', to: '10:00' }] });
    expect(of([], [open('2026-12-23'), open('2026-12-24')])).to.equal(undefined);
    const date = { date: '2026-12-24', hours: [{ from: '10:00', to: '09:00' }] };
    expect(of([], [date])).to.match(/^exceptions: .*must end/);
    expect(
      of(
        [],
        [
          { ...date, hours: [] },
          { ...date, hours: [] },
        ],
      ),
    ).to.match(/^exceptions: a date is named twice/);
  });
});
