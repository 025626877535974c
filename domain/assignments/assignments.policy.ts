/** The rules of assignments: which work they accept, and until which time (ASG-5 to ASG-9). */

export const assignmentRules = {
  /** The maximum number of assignments of a lesson. The lesson shows all of them. */
  maxOfLesson: 20,
} as const;

/** The deadline, and the time from which no work is accepted. Null means that the assignment has no such time. */
export interface Dates {
  dueAt: Date | null;
  closesAt: Date | null;
}

const noDates: Dates = { dueAt: null, closesAt: null };

/**
 * Applies a student's extension. The extension moves only dates that the assignment has, and only to a later time. If the assignment's own
 * date is later, the own date applies. If the closing time would be before the moved deadline, it moves to the deadline.
 * @returns the dates in force for one student
 */
export function datesInForce(own: Dates, extension: Dates = noDates): Dates {
  const dueAt = own.dueAt && latest(own.dueAt, extension.dueAt);
  return { dueAt, closesAt: own.closesAt && latest(own.closesAt, extension.closesAt, dueAt) };
}

function latest(...dates: readonly [Date, ...(Date | null)[]]): Date {
  return new Date(Math.max(...dates.map((date) => date?.getTime() ?? -Infinity)));
}

/** @returns whether the student can no longer hand in work. True from the closing time on */
export function isClosed({ closesAt }: Dates, now: Date): boolean {
  return closesAt !== null && now >= closesAt;
}

/**
 * Work has two deadlines: the deadline at the time when it was first sent, and the deadline now. Work is late only if it was first sent
 * after both of them. So late work becomes punctual if the deadline moves to a later time. Work that was in time does not become late if
 * the deadline moves to an earlier time. Work that is sent exactly at the deadline is in time.
 * @param first `sentAt` is the time at which the student first sent the work. `dueAt` is the deadline at that time
 * @param dueAt the deadline in force now
 */
export function isLate(first: { sentAt: Date; dueAt: Date | null }, dueAt: Date | null): boolean {
  if (first.dueAt === null || dueAt === null) return false;
  return first.sentAt > first.dueAt && first.sentAt > dueAt;
}
