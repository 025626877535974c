/** One student of a bulk job, and the outcome. It names the student only by id; an address is never stored (BULK-5). */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { BulkJob } from './bulk-job.ts';
import { bulkOutcomes, bulkRowCodes, type BulkOutcome, type BulkRowCode } from './values.ts';
import { oneOf } from '../one-of.ts';

@Entity('bulk_job_rows')
@Check('bulk_job_rows_outcomes', oneOf('outcome', bulkOutcomes))
@Check('bulk_job_rows_codes', oneOf('code', bulkRowCodes))
@Check(
  'bulk_job_rows_code',
  `(code IS NOT NULL) = (outcome = 'failed' OR (outcome = 'unchanged' AND code = 'duplicate'))`,
)
@Index('bulk_job_rows_outcome', ['jobId', 'outcome', 'row'])
@Index('bulk_job_rows_student', ['studentId'], { where: 'student_id IS NOT NULL' })
export class BulkJobRow {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'bulk_job_rows_pkey' })
  jobId: string;

  /** The position of the student in the request, from 1. */
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'bulk_job_rows_pkey' })
  row: number;

  /** Null if no student was found, or if the student was removed. */
  @Column({ type: 'uuid', nullable: true })
  studentId: string | null;

  @Column({ type: 'text' })
  outcome: BulkOutcome;

  @Column({ type: 'text', nullable: true })
  code: BulkRowCode | null;

  @ManyToOne(() => BulkJob, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'job_id', foreignKeyConstraintName: 'bulk_job_rows_job_id_fkey' })
  job: Relation<BulkJob>;
}
