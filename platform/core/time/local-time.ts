/** The days and months of a club in its time zone, by the time zone rules of Node (DEC-154). */
import { Temporal } from 'temporal-polyfill';
import { zoneHere } from './time-zones.ts';

/**
 * @param local such as `2026-03-02T09:00` @param zone an IANA name @returns the first instant if clocks show the time twice; undefined if
 * clocks skip it
 */
export function instantOf(local: string, zone: string): Date | undefined {
  const plain = Temporal.PlainDateTime.from(local);
  const zoned = plain.toZonedDateTime(zoneHere(zone), { disambiguation: 'earlier' });
  return zoned.toPlainDateTime().equals(plain) ? new Date(zoned.epochMilliseconds) : undefined;
}

/** In minutes of the day. If `to` is before `from`, the window contains midnight. If both are equal, it is the whole day. */
export interface DayWindow {
  from: number;
  to: number;
}

/** Searching one day is not enough: a clock change can skip the whole window. */
const daysSearched = 3;

/**
 * @returns now if the window is open, otherwise the instant at which it opens next. If clocks skip its beginning, it opens after the gap.
 */
export function nextOpening(window: DayWindow, zone: string, now: Date): Date {
  if (isOpen(window, zone, now)) return now;
  const today = localAt(zone, now).toPlainDate();
  const time = timeOf(window.from);
  for (let days = 0; days <= daysSearched; days++) {
    const local = today.add({ days }).toPlainDateTime(time);
    const second = new Date(local.toZonedDateTime(zoneHere(zone), { disambiguation: 'later' }).epochMilliseconds);
    const opening = [firstInstantAt(local, zone), second].find((at) => at >= now && isOpen(window, zone, at));
    if (opening) return opening;
  }
  throw new Error(
    `The window from minute ${window.from} to ${window.to} does not open in ${zone} within ${daysSearched} days.`,
  );
}

function isOpen({ from, to }: DayWindow, zone: string, at: Date): boolean {
  const { hour, minute } = localAt(zone, at);
  const minuteShown = hour * 60 + minute;
  if (from === to) return true;
  return from < to ? minuteShown >= from && minuteShown < to : minuteShown >= from || minuteShown < to;
}

export const localAt = (zone: string, at: Date): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(zoneHere(zone));

const timeOf = (minute: number): Temporal.PlainTime =>
  Temporal.PlainTime.from({ hour: Math.floor(minute / 60), minute: minute % 60 });

/**
 * @param minute of the day
 * @param days the number of whole days to skip first
 * @returns the next instant with this local time. If clocks skip the time, it is the first instant after the gap. If they show it twice, it
 * is the first of the two
 */
export function nextMinuteOfDay(minute: number, days: number, zone: string, now: Date): Date {
  const today = localAt(zone, now).toPlainDate();
  const time = timeOf(minute);
  const on = (date: Temporal.PlainDate): Date => firstInstantAt(date.toPlainDateTime(time), zone);
  const first = on(today.add({ days }));
  return first < now ? on(today.add({ days: days + 1 })) : first;
}

export interface LocalDate {
  /** Such as `2026-03-29`. */
  date: string;
  /** The first instant at which the clock shows this minute or a later one. */
  at: Date;
  endsAt: Date;
}

/**
 * @param minute of the day
 * @returns the date; its times are correct even if a clock change skips or repeats them
 */
export function localDateOf(minute: number, zone: string, now: Date): LocalDate {
  const today = localAt(zone, now).toPlainDate();
  const time = timeOf(minute);
  return {
    date: today.toString(),
    at: firstInstantAt(today.toPlainDateTime(time), zone),
    endsAt: firstInstantAt(today.add({ days: 1 }).toPlainDateTime(), zone),
  };
}

export interface LocalMonth {
  /** Such as `2026-03-01`. */
  month: string;
  startsAt: Date;
  endsAt: Date;
}

/** Each instant belongs to exactly one month, even if a clock change repeats the beginning of a month. */
export function localMonthOf(zone: string, now: Date): LocalMonth {
  const first = localAt(zone, now).toPlainDate().with({ day: 1 });
  const month = monthFrom(first, zone);
  // If clocks go back over midnight, the new month has already begun.
  return now < month.endsAt ? month : monthFrom(first.add({ months: 1 }), zone);
}

function monthFrom(first: Temporal.PlainDate, zone: string): LocalMonth {
  const beginning = (day: Temporal.PlainDate): Date => firstInstantAt(day.toPlainDateTime(), zone);
  return { month: first.toString(), startsAt: beginning(first), endsAt: beginning(first.add({ months: 1 })) };
}

/** @param local such as `2026-03-29T02:30` @returns the end of the gap if clocks skip the time; the first instant if they show it twice */
export function firstInstantAt(local: Temporal.PlainDateTime, zone: string): Date {
  const zoned = local.toZonedDateTime(zoneHere(zone), { disambiguation: 'earlier' });
  if (zoned.toPlainDateTime().equals(local)) return new Date(zoned.epochMilliseconds);
  return new Date((zoned.getTimeZoneTransition('next') ?? zoned).epochMilliseconds);
}
