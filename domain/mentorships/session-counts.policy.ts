/** Splits a time range into whole days and the rest at both ends. The sessions of whole days are counted by tallies (ADR 11). */
import { sessionRules, type ShownStatus } from './sessions.policy.ts';

/** A range of beginnings of sessions in Unix milliseconds. It includes `from` and excludes `to`. Both may be infinite. */
export interface Beginnings {
  from: number;
  to: number;
}

const dayMs = 86_400_000;

/**
 * A booked session becomes completed when it ends. So sessions that began less than the longest duration ago are not counted by tallies.
 * The function returns their times as ranges in which sessions are counted one by one.
 * @returns the whole UTC days, numbered from 1970 and including `last`, on which all sessions match the status. Also the other ranges of
 *   beginnings, in which sessions may match
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
