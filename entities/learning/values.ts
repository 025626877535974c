/** The values that columns of courses and engagement may hold. */

export const courseStatuses = ['draft', 'published', 'archived'] as const;
export type CourseStatus = (typeof courseStatuses)[number];

export const awardKinds = ['lesson', 'manual', 'automation'] as const;
export type AwardKind = (typeof awardKinds)[number];

/** The kinds of texts that cannot be printed as written. Existing codes never change, but new codes may be added. */
export const certificateWarningCodes = [
  /** A letter that no font contains, so that the certificate shows a box instead. */
  'letters_without_font',
] as const;

/** The texts of a certificate that people write. */
export const certificateTexts = ['student_name', 'course_title', 'club_name'] as const;
export type CertificateText = (typeof certificateTexts)[number];

export interface CertificateWarning {
  code: (typeof certificateWarningCodes)[number];
  /** The texts to which the warning applies, each only once. */
  fields: CertificateText[];
}
