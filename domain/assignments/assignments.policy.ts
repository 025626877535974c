/** What assignments take, and until when (ASG-5 to ASG-9). */

export const assignmentRules = {
  /** Of a lesson, so that all of them are shown with it. */
  maxOfLesson: 20,
} as const;

/** The deadline, and from when on nothing is taken; null: there is none. */
export interface Dates {
  dueAt: Date | null;
  closesAt: Date | null;
}

const noDates: Dates = { dueAt: null, closesAt: null };

/**
 * An extension moves dates that the assignment has, and only to later: where the assignment's own is later, that one is in force for
 * everybody. A moved deadline moves the closing with it.
 * @returns the dates in force for one student
 */
export function datesInForce(own: Dates, extension: Dates = noDates): Dates {
  const dueAt = own.dueAt && latest(own.dueAt, extension.dueAt);
  return { dueAt, closesAt: own.closesAt && latest(own.closesAt, extension.closesAt, dueAt) };
}

function latest(...dates: readonly [Date, ...(Date | null)[]]): Date {
  return new Date(Math.max(...dates.map((date) => date?.getTime() ?? -Infinity)));
}

/** @returns whether the dates in force let nobody send any more: from the closing on */
export function isClosed({ closesAt }: Dates, now: Date): boolean {
  return closesAt !== null && now >= closesAt;
}

/**
 * Work is late if it was first sent after the deadline that was in force then, and is so by today's dates, too: a later deadline
 * corrects it, an earlier one makes nothing late that was sent in time. What is sent in the moment of the deadline is in time.
 * @param first when it was first sent, and the deadline in force then
 * @param dueAt the deadline in force now
 */
export function isLate(first: { sentAt: Date; dueAt: Date | null }, dueAt: Date | null): boolean {
  if (first.dueAt === null || dueAt === null) return false;
  return first.sentAt > first.dueAt && first.sentAt > dueAt;
}
