/** The values that columns of access may hold. */

/** The kinds of records that a delivery opens: a course (with or without a cohort), an AI agent, a repository or a community space. */
export const deliveryKinds = ['course', 'agent', 'repository', 'space'] as const;
export type DeliveryKind = (typeof deliveryKinds)[number];

export const enrollmentSources = [
  'purchase',
  'subscription',
  'grant',
  'invite',
  'import',
  'registration_link',
  'free',
] as const;
export type EnrollmentSource = (typeof enrollmentSources)[number];

export const saleSources = ['purchase', 'subscription'] as const satisfies readonly EnrollmentSource[];

export const revocationReasons = ['refund', 'cancellation', 'revocation', 'removal'] as const;
export type RevocationReason = (typeof revocationReasons)[number];

export const importStatuses = ['uploading', 'pending', 'running', 'completed', 'failed', 'canceled'] as const;
export type ImportStatus = (typeof importStatuses)[number];

export const endedImportStatuses = ['completed', 'failed', 'canceled'] as const satisfies readonly ImportStatus[];
export type EndedImportStatus = (typeof endedImportStatuses)[number];

export const openImportStatuses: readonly ImportStatus[] = importStatuses.filter(
  (status) => !endedImportStatuses.some((ended) => ended === status),
);

export type ImportError =
  | 'upload_interrupted' // the body did not arrive completely
  | 'upload_too_large' // the body was longer than announced and allowed
  | 'file_missing' // the stored file does not exist any more
  | 'row_too_long' // a row is too long and contains quotes, so the import cannot find the end of the row
  | 'delivery_not_grantable'; // a delivery cannot be granted any more, for example because its cohort has ended

export const rowOutcomes = ['created', 'existing', 'failed'] as const;
export type RowOutcome = (typeof rowOutcomes)[number];

export type ImportColumn = 'email' | 'name';

export type RowCode =
  | 'broken_quotes'
  | 'row_too_long'
  | 'wrong_column_count'
  | 'not_utf8'
  | 'invalid_character'
  | 'email_missing'
  | 'email_invalid'
  | 'name_missing'
  | 'name_too_long'
  | 'duplicate'
  | 'limit_reached'
  | 'student_removed';

/** The format of all rows of an imported file, as its header line states it. */
export interface FileFormat {
  delimiter: string;
  columns: number;
  /** The indexes of the columns that the import reads, from 0. */
  email: number;
  name: number;
}
