/** The values that columns of courses and engagement may hold. */

export const courseStatuses = ['draft', 'published', 'archived'] as const;
export type CourseStatus = (typeof courseStatuses)[number];

/** What points are given for. */
export const awardKinds = ['lesson', 'manual', 'automation'] as const;
export type AwardKind = (typeof awardKinds)[number];
