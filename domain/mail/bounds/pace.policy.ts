/** The daily limits of mails that a club sends on its own initiative. New clubs and clubs that pay nothing may send only few (DEC-65). */
import type { PlanName } from '../../../entities/billing/values.ts';

const day = 86_400_000;

/** Invitations per day (UTC); null means no limit. */
const mailsOfPlan = { trial: 25, starter: null, professional: null, business: null } as const satisfies Record<
  PlanName,
  number | null
>;

interface PacedClub {
  plan: PlanName;
  createdAt: Date;
}

/**
 * @param warmUp the limits of a club's first days; later days have none
 * @param date the first instant of the day (UTC)
 * @returns null if there is no limit
 */
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
 * @param domainProvenAt the first proof of the sender domain; null for the platform's domain
 * @param date the first instant of the day (UTC)
 * @returns the mails of campaigns and automations that the club may send on that day; null without a limit (CAMP-41)
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

/** @returns the beginning (UTC) of the day that is `later` days after the day of `at` */
export function dayOf(at: Date, later = 0): Date {
  return new Date((Math.floor(at.getTime() / day) + later) * day);
}

/** @returns when the mail with this slot is sent. Slots count from 1 and spread evenly over the day */
export function timeOfSlot(date: Date, slot: number, mails: number): Date {
  return new Date(date.getTime() + Math.floor(((slot - 1) / mails) * day));
}
