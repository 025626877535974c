/** Decides which work an assignment accepts, and until which time (ASG-5 to ASG-9). */

export const assignmentRules = {
  /** The maximum number of assignments of a lesson. A lesson shows all its assignments. */
  maxOfLesson: 20,
} as const;

/**
 * The deadline of an assignment (`dueAt`), and the time from which it accepts no work (`closesAt`). Null means that the assignment has no
 * such time.
 */
export interface Dates {
  dueAt: Date | null;
  closesAt: Date | null;
}

const noDates: Dates = { dueAt: null, closesAt: null };

/**
 * Applies a student's extension. It moves only dates that the assignment has, and only to a later time. A closing time before the moved
 * deadline moves to the deadline.
 */
export function datesInForce(own: Dates, extension: Dates = noDates): Dates {
  const dueAt = own.dueAt && latest(own.dueAt, extension.dueAt);
  return { dueAt, closesAt: own.closesAt && latest(own.closesAt, extension.closesAt, dueAt) };
}

function latest(...dates: readonly [Date, ...(Date | null)[]]): Date {
  return new Date(Math.max(...dates.map((date) => date?.getTime() ?? -Infinity)));
}

/** @returns whether the student can no longer hand in work. The value is true from the closing time on */
export function isClosed({ closesAt }: Dates, now: Date): boolean {
  return closesAt !== null && now >= closesAt;
}

/**
 * Work is late only if the student first sent it after the deadline of that time, and also after the current deadline. So late work becomes
 * punctual if the deadline moves to a later time, and punctual work stays punctual. Work that is sent exactly at the deadline is punctual.
 * @param first `sentAt` is the time at which the student first sent the work. `dueAt` is the deadline at that time
 * @param dueAt the current deadline of the student
 */
export function isLate(first: { sentAt: Date; dueAt: Date | null }, dueAt: Date | null): boolean {
  if (first.dueAt === null || dueAt === null) return false;
  return first.sentAt > first.dueAt && first.sentAt > dueAt;
}
