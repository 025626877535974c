/** One action on many students, with its progress (BULK-1). */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { bulkJobStatuses, endedBulkJobStatuses, type BulkAction, type BulkJobStatus } from './values.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('bulk_jobs')
@Check('bulk_jobs_status', oneOf('status', bulkJobStatuses))
@Check('bulk_jobs_ended', `(completed_at IS NOT NULL) = (${oneOf('status', endedBulkJobStatuses)})`)
@Index('bulk_jobs_club', ['clubId', 'createdAt', 'id'])
@Index('bulk_jobs_turn', ['clubId', 'createdAt', 'id'], { where: 'completed_at IS NULL' })
@Index('bulk_jobs_looks_at', ['looksAt'], { where: 'looks_at IS NOT NULL' })
@Index('bulk_jobs_completed', ['completedAt'], { where: 'completed_at IS NOT NULL' })
export class BulkJob {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'bulk_jobs_pkey' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The note of an award is deleted when the job ends, because the awards have it. */
  @Column({ type: 'jsonb' })
  action: BulkAction;

  @Column({ type: 'text' })
  status: BulkJobStatus;

  @Column({ type: 'integer' })
  rowsTotal: number;

  @Column({ type: 'integer', default: 0 })
  appliedCount: number;

  @Column({ type: 'integer', default: 0 })
  unchangedCount: number;

  @Column({ type: 'integer', default: 0 })
  failedCount: number;

  /** The time by which the job's workflow must check the job again. Null if the job has ended. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  startedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'bulk_jobs_club_id_fkey' })
  club: Relation<Club>;
}
