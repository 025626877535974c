/** The values that columns of courses and engagement may hold. */

export const courseStatuses = ['draft', 'published', 'archived'] as const;
export type CourseStatus = (typeof courseStatuses)[number];

/** What points are given for. */
export const awardKinds = ['lesson', 'manual', 'automation'] as const;
export type AwardKind = (typeof awardKinds)[number];

/** What of a certificate cannot be printed as it is written. Codes stay; new ones may come. */
export const certificateWarningCodes = [
  /** A letter that no font has: a box stands in its place. */
  'letters_without_font',
] as const;

/** The texts of a certificate that people write. */
export const certificateTexts = ['student_name', 'course_title', 'club_name'] as const;
export type CertificateText = (typeof certificateTexts)[number];

export interface CertificateWarning {
  code: (typeof certificateWarningCodes)[number];
  /** Where, each once. */
  fields: CertificateText[];
}
