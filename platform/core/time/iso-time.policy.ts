/** Parses ISO 8601 times of other systems: a date and a time of day, with or without an offset. */
import { Temporal } from 'temporal-polyfill';

/** Accepts the basic and the extended form, also without seconds, with lower-case `t` and `z`, a blank, or a decimal comma. */
const shape = new RegExp(
  [
    String.raw`^(?<year>\d{4})(?<dash>-?)(?<month>\d\d)\k<dash>(?<day>\d\d)[Tt ]`,
    String.raw`(?<hour>\d\d)(?::?(?<minute>\d\d)(?::?(?<second>\d\d))?)?(?:[.,](?<fraction>\d{1,30}))?`,
    String.raw`(?: ?(?<zone>[Zz]|[+\u2212-]\d\d(?::?\d\d)?))?$`,
  ].join(''),
);

/**
 * @param zone used if the text states no offset, such as `-03:00`
 * @returns Unix milliseconds; NaN for a text that is not a time, or a time that does not exist
 */
export function isoMoment(text: string, zone = 'Z'): number {
  const parts = shape.exec(text)?.groups;
  if (!parts) return Number.NaN;
  const number = (name: string) => Number(parts[name] ?? 0);
  // ISO 8601 allows 24:00 for the end of a day.
  const isMidnight =
    number('hour') === 24 && number('minute') === 0 && number('second') === 0 && number('fraction') === 0;
  const offset = offsetOf(parts['zone'] ?? zone);
  try {
    const time = Temporal.PlainDateTime.from(
      {
        year: number('year'),
        month: number('month'),
        day: number('day'),
        hour: isMidnight ? 0 : number('hour'),
        minute: number('minute'),
        second: number('second'),
      },
      { overflow: 'reject' },
    ).add({ days: isMidnight ? 1 : 0 });
    return time.toZonedDateTime('UTC').epochMilliseconds + fractionOf(parts) - offset;
  } catch (error) {
    if (error instanceof RangeError) return Number.NaN;
    throw error;
  }
}

/** In milliseconds. It is a fraction of the smallest unit in the text: a second, a minute or an hour. */
function fractionOf({ fraction, second, minute }: Record<string, string | undefined>): number {
  if (fraction === undefined) return 0;
  const unit = second !== undefined ? 1_000 : minute !== undefined ? 60_000 : 3_600_000;
  return Math.floor(Number(`0.${fraction}`) * unit + 1e-6);
}

/** @returns milliseconds ahead of UTC; NaN if longer than a day */
function offsetOf(zone: string): number {
  if (/^z$/i.test(zone)) return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', '') || 0)];
  if (hours > 23 || minutes > 59) return Number.NaN;
  return (zone.startsWith('+') ? 1 : -1) * (hours * 60 + minutes) * 60_000;
}
