/** Splits a time range into whole days, and a shorter range at each end. Tallies count the sessions of the whole days (ADR 11). */
import { sessionRules, type ShownStatus } from './sessions.policy.ts';

/** A range for the time at which sessions begin, in Unix milliseconds. It includes `from` and excludes `to`. Both may be infinite. */
export interface Beginnings {
  from: number;
  to: number;
}

const dayMs = 86_400_000;

/**
 * A booked session becomes completed when it ends. A session that began recently, less than the longest duration ago, may still run. So the
 * tallies cannot count such sessions. The function returns the times of such sessions as ranges in which the sessions must be counted one
 * by one.
 * @returns `days` are the whole UTC days that tallies count, numbered from 1970 and including `last`. `ends` are the remaining ranges, in
 * which each session must be compared with the status
 */
export function countedParts(
  { status, since, until }: { status?: ShownStatus | undefined; since?: Date | undefined; until?: Date | undefined },
  now: Date,
): { days: { first: number; last: number } | undefined; ends: Beginnings[] } {
  const requested = {
    from: since?.getTime() ?? Number.NEGATIVE_INFINITY,
    to: until?.getTime() ?? Number.POSITIVE_INFINITY,
  };
  const oldestOpen = now.getTime() - sessionRules.longestMs;
  const possible = {
    from: status === 'booked' ? Math.max(requested.from, oldestOpen) : requested.from,
    to: status === 'completed' ? Math.min(requested.to, now.getTime()) : requested.to,
  };
  const certain = {
    from: status === 'booked' ? Math.max(requested.from, now.getTime()) : requested.from,
    to: status === 'completed' ? Math.min(requested.to, oldestOpen) : requested.to,
  };
  if (possible.from >= possible.to) return { days: undefined, ends: [] };
  const first = Math.max(0, Math.ceil(certain.from / dayMs));
  const end = Math.max(0, Math.floor(certain.to / dayMs));
  if (first >= end) return { days: undefined, ends: [possible] };
  const ends = [
    { from: possible.from, to: first * dayMs },
    { from: end * dayMs, to: possible.to },
  ];
  // No session begins before 1970.
  return { days: { first, last: end - 1 }, ends: ends.filter(({ from, to }) => from < to && to > 0) };
}
