/** How many mails a club may send in a day on its own account: few while it is new or pays nothing (DEC-65). */
import type { PlanName } from '../../../entities/billing/values.ts';

const day = 86_400_000;

/** Invitations of a day (UTC) by plan; null for no bound. */
const mailsOfPlan = { trial: 25, starter: null, professional: null, business: null } as const satisfies Record<
  PlanName,
  number | null
>;

/** A club, as far as its pace depends on it. */
interface PacedClub {
  plan: PlanName;
  createdAt: Date;
}

/**
 * @param warmUp mails of a club's first day, second day and so on; no bound after the last
 * @param date the first instant of the day (UTC)
 * @returns how many mails the club may send on that day; null for no bound
 */
export function mailsOfDay({ plan, createdAt }: PacedClub, warmUp: readonly number[], date: Date): number | null {
  const bounds = [warmUp[ageInDays(createdAt, date)] ?? null, mailsOfPlan[plan]].filter((bound) => bound !== null);
  return bounds.length === 0 ? null : Math.min(...bounds);
}

/** Mails of the first day, the second day and so on; no bound after the last. */
export interface WarmUps {
  clubs: readonly number[];
  /** Of a club's own mail domain, from the day on which it was proven first. */
  domains: readonly number[];
}

/**
 * @param domainProvenAt when the domain that mails leave from was proven first; null for the platform's domain
 * @param date the first instant of the day (UTC)
 * @returns how many mails of campaigns and automations the club may send on that day; null for no bound (CAMP-41)
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

/** @returns the first instant of the day (UTC) that is so many days after this one's */
export function dayOf(at: Date, later = 0): Date {
  return new Date((Math.floor(at.getTime() / day) + later) * day);
}

/** @returns when the mail with this place, from 1, of so many goes: they are spread over the day */
export function timeOfPlace(date: Date, place: number, mails: number): Date {
  return new Date(date.getTime() + Math.floor(((place - 1) / mails) * day));
}
