/** Splits a time range into whole days, which tallies count, and a shorter range at each end (ADR 11). */
import { sessionRules, type ShownStatus } from './sessions.policy.ts';

/** In Unix milliseconds, with `from` and without `to`. Both may be infinite. */
export interface Beginnings {
  from: number;
  to: number;
}

const dayMs = 86_400_000;

/**
 * A booked session becomes completed when it ends. So sessions that began less than the longest duration ago must be counted one by one.
 * @returns `days`: the whole UTC days that tallies count, from 1970, with `last`. `ends`: the other ranges, in which each session is
 * compared with the status
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
