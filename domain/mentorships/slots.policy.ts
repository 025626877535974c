/**
 * Computes when sessions of a mentorship may begin, from the mentorship's hours and the clock of its time zone (MENT-4). The functions
 * ignore bookings.
 */
import { Temporal } from 'temporal-polyfill';
import type { DatedHours, DayHours, WeeklyHours } from '../../entities/mentorships/values.ts';
import { firstInstantAt, localAt } from '../../platform/core/time/local-time.ts';
import { zoneHere } from '../../platform/core/time/time-zones.ts';

/** The properties of a mentorship that decide which sessions it offers. */
export interface Offer {
  timeZone: string;
  weeklyHours: readonly WeeklyHours[];
  exceptions: readonly DatedHours[];
  durationMinutes: number;
  bufferMinutes: number;
  noticeMinutes: number;
  horizonDays: number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** @returns the earliest and the last time for which a session may be booked now (MENT-5) */
export function bookableTimes({ noticeMinutes, horizonDays }: Offer, now: Date): { first: Date; last: Date } {
  return {
    first: new Date(now.getTime() + noticeMinutes * minuteMs),
    last: new Date(now.getTime() + horizonDays * dayMs),
  };
}

/**
 * @returns the times from `from` (included) to `to` (excluded) at which sessions begin, in ascending order. On each day, the first session
 * begins when the mentor's hours begin. Each further session begins when the session before it and the buffer are over, by the clock of the
 * zone. If the clocks skip a time, no session begins at that time. If the clocks show a time twice, one session begins at the first of the
 * two. Each session ends before or when the mentor's hours end.
 */
export function slotsBetween(offer: Offer, from: Date, to: Date): Date[] {
  const starts = new Set<number>();
  const first = localAt(offer.timeZone, from).toPlainDate().subtract({ days: 1 });
  const last = localAt(offer.timeZone, to).toPlainDate().add({ days: 1 });
  for (let date = first; Temporal.PlainDate.compare(date, last) <= 0; date = date.add({ days: 1 }))
    for (const hours of hoursOf(offer, date))
      for (const start of startsIn(hours, date, offer))
        if (start >= from.getTime() && start < to.getTime()) starts.add(start);
  return [...starts].toSorted((one, other) => one - other).map((start) => new Date(start));
}

/** @returns whether a session may begin at this time and may be booked now */
export function isOffered(offer: Offer, startsAt: Date, now: Date): boolean {
  const { first, last } = bookableTimes(offer, now);
  if (startsAt < first || startsAt > last) return false;
  return slotsBetween(offer, startsAt, new Date(startsAt.getTime() + 1)).length === 1;
}

/** @returns a sentence that describes the first fault in the hours; undefined if the hours have no fault */
export function faultOfHours({
  weeklyHours,
  exceptions,
}: Pick<Offer, 'weeklyHours' | 'exceptions'>): string | undefined {
  for (let weekday = 1; weekday <= 7; weekday++) {
    const fault = faultOfDay(weeklyHours.filter((hours) => hours.weekday === weekday));
    if (fault !== undefined) return `weekly_hours: ${fault}`;
  }
  const dates = exceptions.map(({ date }) => date);
  if (new Set(dates).size < dates.length) return 'exceptions: a date is named twice.';
  for (const { hours } of exceptions) {
    const fault = faultOfDay(hours);
    if (fault !== undefined) return `exceptions: ${fault}`;
  }
  return undefined;
}

function faultOfDay(hours: readonly DayHours[]): string | undefined {
  const spans = hours.map(({ from, to }) => [minuteOf(from), minuteOf(to)] as const).toSorted(([a], [b]) => a - b);
  if (spans.some(([from, to]) => from >= to)) return 'hours must end after they begin, on the same day.';
  if (spans.some(([from], index) => from < (spans[index - 1]?.[1] ?? 0))) return 'hours of a day overlap.';
  return undefined;
}

function hoursOf({ weeklyHours, exceptions }: Offer, date: Temporal.PlainDate): readonly DayHours[] {
  const dateText = date.toString();
  const exception = exceptions.find((one) => one.date === dateText);
  return exception ? exception.hours : weeklyHours.filter(({ weekday }) => weekday === date.dayOfWeek);
}

function* startsIn(hours: DayHours, date: Temporal.PlainDate, offer: Offer): Generator<number> {
  const { timeZone, durationMinutes, bufferMinutes } = offer;
  const [from, to] = [minuteOf(hours.from), minuteOf(hours.to)];
  const at = (minute: number) => date.toPlainDateTime().add({ minutes: minute });
  const opens = firstInstantAt(at(from), timeZone).getTime();
  const closes = firstInstantAt(at(to), timeZone).getTime();
  const isPlain = closes - opens === (to - from) * minuteMs; // the clocks do not change between these two times
  for (let minute = from; minute < to; minute += durationMinutes + bufferMinutes) {
    const start = isPlain ? opens + (minute - from) * minuteMs : startAt(at(minute), timeZone);
    if (start !== undefined && start + durationMinutes * minuteMs <= closes) yield start;
  }
}

/** @returns the first instant at which the clocks show this time; undefined if the clocks skip the time */
function startAt(local: Temporal.PlainDateTime, zone: string): number | undefined {
  const zoned = local.toZonedDateTime(zoneHere(zone));
  return zoned.toPlainDateTime().equals(local) ? zoned.epochMilliseconds : undefined;
}

/** @param time a time such as `09:30`; `24:00` is the end of the day */
function minuteOf(time: string): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return hour * 60 + minute;
}
