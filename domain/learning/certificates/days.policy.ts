/** The days that certificates print. */
import { zoneHere } from '../../../platform/core/time-zones.ts';

/**
 * @param timeZone IANA name of the club's
 * @returns the day on which it was then in the club: `2 March 2026`
 */
export function printedDay(at: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: zoneHere(timeZone) }).format(at);
}

/** @returns `1 lesson · 9 hours`; what is not known is left out */
export function printedExtent({ lessons, hours }: { lessons: number; hours?: number | undefined }): string {
  const parts = [counted(lessons, 'lesson'), ...(hours === undefined ? [] : [counted(hours, 'hour')])];
  return parts.join(' · ');
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
