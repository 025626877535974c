/** Times of a club's day, by the rules of its time zone. */
import { Temporal } from 'temporal-polyfill';

/**
 * @param local such as `2026-03-02T09:00`
 * @param zone an IANA name
 * @returns the instant; the first of two where clocks were set back, undefined where they were set forward over it
 */
export function instantOf(local: string, zone: string): Date | undefined {
  const plain = Temporal.PlainDateTime.from(local);
  const zoned = plain.toZonedDateTime(zone, { disambiguation: 'earlier' });
  return zoned.toPlainDateTime().equals(plain) ? new Date(zoned.epochMilliseconds) : undefined;
}

/** A part of the day, in minutes; over midnight where `to` is before `from`, all of it where they are the same. */
export interface DayWindow {
  from: number;
  to: number;
}

/** @returns when the window is next open: now, or the first instant at or after its beginning */
export function nextOpening({ from, to }: DayWindow, zone: string, now: Date): Date {
  const local = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(zone);
  const minute = local.hour * 60 + local.minute;
  const isOpen = from === to || (from < to ? minute >= from && minute < to : minute >= from || minute < to);
  if (isOpen) return now;
  const day = minute < from ? local.toPlainDate() : local.toPlainDate().add({ days: 1 });
  const at = day.toZonedDateTime({ timeZone: zone, plainTime: { hour: Math.floor(from / 60), minute: from % 60 } });
  return new Date(at.epochMilliseconds);
}

/**
 * @param minute of the day
 * @param days whole days to skip first
 * @returns the next instant with that local time that is not past. Where clocks are set forward over it, the first instant
 *   after the gap; where they are set back over it, the first of two
 */
export function nextMinuteOfDay(minute: number, days: number, zone: string, now: Date): Date {
  const today = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(zone).toPlainDate();
  const time = Temporal.PlainTime.from({ hour: Math.floor(minute / 60), minute: minute % 60 });
  const on = (date: Temporal.PlainDate): Date => firstInstantAt(date.toPlainDateTime(time), zone);
  const first = on(today.add({ days }));
  return first < now ? on(today.add({ days: days + 1 })) : first;
}

/** A date of a zone. */
export interface LocalDate {
  /** Such as `2026-03-29`. */
  date: string;
  /** The first instant at which the clock shows the minute that was asked for, or a later one. */
  at: Date;
  /** The beginning of the next date. */
  endsAt: Date;
}

/**
 * @param minute of the day
 * @returns the date that it is in the zone now; its times are right where clocks are set over the minute or over midnight
 */
export function localDateOf(minute: number, zone: string, now: Date): LocalDate {
  const today = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(zone).toPlainDate();
  const time = Temporal.PlainTime.from({ hour: Math.floor(minute / 60), minute: minute % 60 });
  return {
    date: today.toString(),
    at: firstInstantAt(today.toPlainDateTime(time), zone),
    endsAt: firstInstantAt(today.add({ days: 1 }).toPlainDateTime(), zone),
  };
}

/**
 * @param local such as `2026-03-29T02:30`
 * @returns the first instant at which the clock of the zone shows that time or a later one: after a gap that it is in, and the
 *   first of two
 */
export function firstInstantAt(local: Temporal.PlainDateTime, zone: string): Date {
  const zoned = local.toZonedDateTime(zone, { disambiguation: 'earlier' });
  if (zoned.toPlainDateTime().equals(local)) return new Date(zoned.epochMilliseconds);
  return new Date((zoned.getTimeZoneTransition('next') ?? zoned).epochMilliseconds);
}
