/** Decides the status of an enrollment at a given time, and the event that records a changed end (EVT-6, EVT-7). */

export type EnrollmentStatus = 'active' | 'expired' | 'revoked';

export interface EnrollmentTimes {
  startsAt: Date;
  endsAt: Date | null;
  revokedAt: Date | null;
}

export function enrollmentStatus({ endsAt, revokedAt }: EnrollmentTimes, now: Date): EnrollmentStatus {
  if (revokedAt !== null) return 'revoked';
  return endsAt !== null && endsAt <= now ? 'expired' : 'active';
}

/** @returns the type of the fact that records the changed end; undefined if the end did not change */
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
 * Decides the beginning and the end of an access. Requested times have priority. Otherwise the access begins now, or when the cohort begins
 * if that is later. The access ends after the delivery's number of days. If the delivery has no such number, the access ends with the
 * cohort.
 * @param requested the period that the caller wants. If `endsAt` is null, the access has no end
 */
export function periodOf(
  requested: { startsAt?: Date | undefined; endsAt?: Date | null | undefined },
  delivery: { accessDays: number | null },
  cohort: { startsAt: Date | null; endsAt: Date | null } | undefined,
  now: Date,
): Period {
  const startsAt = requested.startsAt ?? (cohort?.startsAt && cohort.startsAt > now ? cohort.startsAt : now);
  if (requested.endsAt !== undefined) return { startsAt, endsAt: requested.endsAt };
  if (delivery.accessDays !== null)
    return { startsAt, endsAt: new Date(startsAt.getTime() + delivery.accessDays * dayMs) };
  return { startsAt, endsAt: cohort?.endsAt ?? null };
}
