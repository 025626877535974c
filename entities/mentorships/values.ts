/** The values that columns of mentorships may hold. */

export const mentorshipStatuses = ['draft', 'published', 'archived'] as const;
export type MentorshipStatus = (typeof mentorshipStatuses)[number];

/** The statuses that the row stores. After its end, a booked session is shown as completed (MENT-9). */
export const storedSessionStatuses = ['booked', 'canceled', 'no_show'] as const;
export type StoredSessionStatus = (typeof storedSessionStatuses)[number];

export const sessionCancelers = ['student', 'club'] as const;
export type SessionCanceler = (typeof sessionCancelers)[number];

/** A part of a day in the local time of the mentorship's zone, for example `09:00` to `12:30`. It ends at `24:00` at the latest. */
export interface DayHours {
  from: string;
  to: string;
}

/** The hours that repeat each week. @property weekday from 1 for Monday to 7 for Sunday */
export interface WeeklyHours extends DayHours {
  weekday: number;
}

/** The hours of one date (`2026-12-24`), which replace the weekday's hours. An empty list means no hours. */
export interface DatedHours {
  date: string;
  hours: readonly DayHours[];
}
