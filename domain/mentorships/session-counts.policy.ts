/** Which days are counted as a whole, and what is left at their ends, for a total of sessions (ADR 11). */
import { sessionRules, type ShownStatus } from './sessions.policy.ts';

/** Beginnings of sessions from `from` on and before `to`, in Unix milliseconds; both may be infinite. */
export interface Beginnings {
  from: number;
  to: number;
}

const dayMs = 86_400_000;

/**
 * A booked session is to come until it ends, and completed then: of sessions that begin within the longest one of now, each is asked.
 * @returns whole days by UTC, since 1970, `last` among them, all of whose sessions fit the filter as far as time goes; and the
 *   beginnings beside these days that may fit
 */
export function countedParts(
  { status, since, until }: { status?: ShownStatus | undefined; since?: Date | undefined; until?: Date | undefined },
  now: Date,
): { days: { first: number; last: number } | undefined; ends: Beginnings[] } {
  const asked = {
    from: since?.getTime() ?? Number.NEGATIVE_INFINITY,
    to: until?.getTime() ?? Number.POSITIVE_INFINITY,
  };
  const begun = now.getTime() - sessionRules.longestMs;
  const possible = {
    from: status === 'booked' ? Math.max(asked.from, begun) : asked.from,
    to: status === 'completed' ? Math.min(asked.to, now.getTime()) : asked.to,
  };
  const certain = {
    from: status === 'booked' ? Math.max(asked.from, now.getTime()) : asked.from,
    to: status === 'completed' ? Math.min(asked.to, begun) : asked.to,
  };
  if (possible.from >= possible.to) return { days: undefined, ends: [] };
  const first = Math.max(0, Math.ceil(certain.from / dayMs));
  const end = Math.max(0, Math.floor(certain.to / dayMs));
  if (first >= end) return { days: undefined, ends: [possible] };
  const ends = [
    { from: possible.from, to: first * dayMs },
    { from: end * dayMs, to: possible.to },
  ];
  // Nothing begins before 1970.
  return { days: { first, last: end - 1 }, ends: ends.filter(({ from, to }) => from < to && to > 0) };
}
