/**
 * The daily limits of mails that a club sends on its own initiative. A new club, or a club that pays nothing, may send only few of these
 * mails (DEC-65).
 */
import type { PlanName } from '../../../entities/billing/values.ts';

const day = 86_400_000;

/** The maximum number of invitations per day (UTC) for each plan. Null means no limit. */
const mailsOfPlan = { trial: 25, starter: null, professional: null, business: null } as const satisfies Record<
  PlanName,
  number | null
>;

/** The values of a club that decide its daily limit. */
interface PacedClub {
  plan: PlanName;
  createdAt: Date;
}

/**
 * @param warmUp the limits of a club's first days, one limit for each day. A later day has no warm-up limit
 * @param date the first instant of the day (UTC)
 * @returns the number of mails that the club may send on that day; null if there is no limit */
export function mailsOfDay({ plan, createdAt }: PacedClub, warmUp: readonly number[], date: Date): number | null {
  const bounds = [warmUp[ageInDays(createdAt, date)] ?? null, mailsOfPlan[plan]].filter((bound) => bound !== null);
  return bounds.length === 0 ? null : Math.min(...bounds);
}

/** The limits of the first day, the second day and so on. After the last day there is no limit. */
export interface WarmUps {
  clubs: readonly number[];
  /** The limits of a club's own mail domain. The first day is the day on which the domain was first proven. */
  domains: readonly number[];
}

/**
 * @param domainProvenAt the time of the sender domain's first proof; null for the platform's domain
 * @param date the first instant of the day (UTC)
 * @returns the number of mails of campaigns and automations that the club may send on that day; null if there is no limit (CAMP-41)
 */
export function bulkMailsOfDay(
  club: PacedClub,
  domainProvenAt: Date | null,
  warmUps: WarmUps,
  date: Date,
): number | null {
  const ofClub = mailsOfDay(club, warmUps.clubs, date);
  const ofDomain = domainProvenAt === null ? null : (warmUps.domains[ageInDays(domainProvenAt, date)] ?? null);
  if (ofClub === null || ofDomain === null) return ofClub ?? ofDomain;
  return Math.min(ofClub, ofDomain);
}

const ageInDays = (since: Date, date: Date) => Math.max(0, Math.floor((date.getTime() - dayOf(since).getTime()) / day));

/** @returns the first instant of the day (UTC) that is `later` days after the day of `at` */
export function dayOf(at: Date, later = 0): Date {
  return new Date((Math.floor(at.getTime() / day) + later) * day);
}

/** @returns the time at which the mail with this slot is sent. Slots are numbered from 1 and spread evenly over the day */
export function timeOfSlot(date: Date, slot: number, mails: number): Date {
  return new Date(date.getTime() + Math.floor(((slot - 1) / mails) * day));
}
