/** Calculates when a delivery is attempted again. The numbers of DEL-1 to DEL-8 are defined only here. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const attemptTimeLimitMs = 15 * second;

/** The waits after attempts 1 to 7, in milliseconds, without jitter (DEL-3). */
const waitsMs = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour] as const;

export const deliveryRules = {
  /** The number of attempts: the first attempt, and one attempt after each wait (DEL-3). */
  attempts: waitsMs.length + 1,
  waitsMs,
  /** Changes each wait by at most this share (DEL-3). */
  jitter: 0.1,
  /** The time limit for name lookup, connection, TLS, request and response together (DEL-1). */
  attemptTimeLimitMs,
  /** Longer than any attempt, so that a running worker never loses its lease (ENG-2). */
  leaseSeconds: attemptTimeLimitMs / second + 10,
  /** The maximum wait for which a Retry-After is honoured (DEL-2). */
  retryAfterLimitSeconds: (10 * hour) / second,
  /** A delivery that is pending for longer is canceled with `cancel_reason: expired` (STATE-13). */
  expiryMs: 30 * day,
  /** This many bytes are stored from the start of a response (DEL-8). */
  excerptBytes: 2_048,
} as const;

/** The HTTP statuses for which the service honours a Retry-After (DEL-2). */
const statusesWithRetryAfter: ReadonlySet<number> = new Set([429, 503]);

/**
 * Returns how long a delivery waits after a failed attempt (DEL-2, DEL-3).
 * @param attempt the number of the failed attempt, from 1
 * @param variation.jitter from 0 to less than 1: 0 gives the shortest wait, and 0.5 the wait of the table
 * @param variation.retryAfterSeconds can make the wait longer, but not shorter
 * @returns the wait in whole milliseconds, or undefined after the last attempt
 * @throws RangeError for an invalid attempt number or jitter
 */
export function waitAfterAttempt(
  attempt: number,
  { jitter, retryAfterSeconds = 0 }: { jitter: number; retryAfterSeconds?: number | undefined },
): number | undefined {
  if (!Number.isInteger(attempt) || attempt < 1)
    throw new RangeError(`Attempt ${attempt} is not a whole number from 1.`);
  if (!(jitter >= 0 && jitter < 1)) throw new RangeError(`Jitter ${jitter} is not from 0 to less than 1.`);
  const base = waitsMs[attempt - 1];
  if (base === undefined) return undefined;
  const varied = Math.round(base * (1 + deliveryRules.jitter * (2 * jitter - 1)));
  return Math.max(varied, Math.min(retryAfterSeconds, deliveryRules.retryAfterLimitSeconds) * second);
}

const monthNames = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec';
const months = monthNames.split('|');
const time = String.raw`(?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2})`;
const month = `(?<month>${monthNames})`;

/** The three formats of an HTTP date (RFC 9110, 5.6.7). */
const httpDates = [
  new RegExp(String.raw`^[A-Z][a-z]{2}, (?<day>\d{2}) ${month} (?<year>\d{4}) ${time} GMT$`),
  new RegExp(String.raw`^[A-Z][a-z]{5,8}, (?<day>\d{2})-${month}-(?<year>\d{2}) ${time} GMT$`),
  new RegExp(String.raw`^[A-Z][a-z]{2} ${month} (?<day>[ \d]\d) ${time} (?<year>\d{4})$`),
];

/**
 * Returns the wait of a Retry-After (DEL-2), in whole seconds from `now`, up to the maximum.
 * @param status only 429 and 503 count
 * @param header seconds, or an HTTP date
 * @param now Unix milliseconds
 * @returns seconds; undefined for an absent, negative, past or invalid value
 */
export function honouredRetryAfter(status: number, header: string | undefined, now: number): number | undefined {
  if (header === undefined || !statusesWithRetryAfter.has(status)) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : secondsUntil(header, now);
  return seconds === undefined ? undefined : Math.min(seconds, deliveryRules.retryAfterLimitSeconds);
}

function secondsUntil(header: string, now: number): number | undefined {
  const at = readHttpDate(header, now);
  const seconds = at === undefined ? Number.NaN : Math.ceil((at - now) / second);
  return seconds > 0 ? seconds : undefined;
}

/** @returns Unix milliseconds; undefined for an invalid date */
function readHttpDate(header: string, now: number): number | undefined {
  const parts = httpDates.map((form) => form.exec(header)?.groups).find((groups) => groups !== undefined);
  if (!parts) return undefined;
  const [dayOfMonth, hours, minutes, seconds] = ['day', 'hour', 'minute', 'second'].map((name) => Number(parts[name]));
  const monthIndex = months.indexOf(parts['month'] ?? '');
  const year = fullYear(parts['year'] ?? '', now);
  if (dayOfMonth === undefined || hours === undefined || minutes === undefined || seconds === undefined)
    return undefined;
  const date = new Date(Date.UTC(year, monthIndex, dayOfMonth));
  const exists = date.getUTCMonth() === monthIndex && date.getUTCDate() === dayOfMonth;
  // The value 60 for the seconds is a leap second.
  if (!exists || hours > 23 || minutes > 59 || seconds > 60) return undefined;
  return date.getTime() + hours * hour + minutes * minute + seconds * second;
}

/** Two digits mean a year at most 50 years in the future (RFC 9110, 5.6.7). */
function fullYear(digits: string, now: number): number {
  if (digits.length > 2) return Number(digits);
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}
