/** The status of an enrollment at a time, and which event a change of its end is (EVT-6, EVT-7). */

export type EnrollmentStatus = 'active' | 'expired' | 'revoked';

export interface EnrollmentTimes {
  startsAt: Date;
  /** Null for an access without an end. */
  endsAt: Date | null;
  revokedAt: Date | null;
}

export function enrollmentStatus({ endsAt, revokedAt }: EnrollmentTimes, now: Date): EnrollmentStatus {
  if (revokedAt !== null) return 'revoked';
  return endsAt !== null && endsAt <= now ? 'expired' : 'active';
}

/** @returns which fact moving the end is, if it is one */
export function changeOfEnd(
  before: Date | null,
  after: Date | null,
): 'access.extended' | 'access.shortened' | undefined {
  const [from, to] = [timeOfEnd(before), timeOfEnd(after)];
  if (from === to) return undefined;
  return to > from ? 'access.extended' : 'access.shortened';
}

const timeOfEnd = (end: Date | null): number => end?.getTime() ?? Infinity;

const dayMs = 86_400_000;

export interface Period {
  startsAt: Date;
  endsAt: Date | null;
}

/**
 * When an access begins and ends: as asked for; else with its cohort, but not before now; else for the delivery's days.
 * @param asked an end of null asks for none
 */
export function periodOf(
  asked: { startsAt?: Date | undefined; endsAt?: Date | null | undefined },
  delivery: { accessDays: number | null },
  cohort: { startsAt: Date | null; endsAt: Date | null } | undefined,
  now: Date,
): Period {
  const startsAt = asked.startsAt ?? (cohort?.startsAt && cohort.startsAt > now ? cohort.startsAt : now);
  if (asked.endsAt !== undefined) return { startsAt, endsAt: asked.endsAt };
  if (delivery.accessDays !== null)
    return { startsAt, endsAt: new Date(startsAt.getTime() + delivery.accessDays * dayMs) };
  return { startsAt, endsAt: cohort?.endsAt ?? null };
}
