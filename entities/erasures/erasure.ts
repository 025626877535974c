/**
 * The erasure of a club, a student or an administrator. The row outlives its subject by 400 days, and contains ids, times and counts only.
 */
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { erasureKinds, erasureStatuses, type ErasureKind, type ErasureStatus } from './values.ts';

/** The number of erased rows for each table, of erased objects for each bucket, and of terminated runs. */
export interface ErasureCounts {
  tables?: Record<string, number>;
  buckets?: Record<string, number>;
  runs?: number;
}

@Entity('erasures')
@Check('erasures_kind', oneOf('kind', erasureKinds))
@Check('erasures_status', oneOf('status', erasureStatuses))
@Check('erasures_club', `kind = 'administrator' OR club_id IS NOT NULL`)
@Check('erasures_completed', `(status = 'completed') = (completed_at IS NOT NULL)`)
@Check('erasures_due', `(status = 'completed') = (looks_at IS NULL)`)
@Index('erasures_subject', ['subjectId'], { unique: true })
@Index('erasures_looks_at', ['looksAt'], { where: 'looks_at IS NOT NULL' })
@Index('erasures_requested', ['requestedAt'])
@Index('erasures_slug', ['slug'], { where: 'slug IS NOT NULL' })
export class Erasure {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'erasures_pkey' })
  id: string;

  @Column({ type: 'text' })
  kind: ErasureKind;

  /** The id of the club, the student or the administrator. A cancellation deletes the row, so a subject has at most one. */
  @Column({ type: 'uuid' })
  subjectId: string;

  /** The club itself, or the club of the student; null for an administrator. No foreign key, because the row outlives the club. */
  @Column({ type: 'uuid', nullable: true })
  clubId: string | null;

  /** The id of the administrator, the student or the API key that asked; null for the service itself and for commands of operators. */
  @Column({ type: 'uuid', nullable: true })
  requestedBy: string | null;

  @Column({ type: 'timestamptz' })
  requestedAt: Date;

  /** When the erasure begins. */
  @Column({ type: 'timestamptz' })
  erasesAt: Date;

  @Column({ type: 'text' })
  status: ErasureStatus;

  /** When the run takes its next step; null once the erasure is complete. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  /** When owners and admins of the club got the mail about the near end. */
  @Column({ type: 'timestamptz', nullable: true })
  remindedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  closedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  @Column({ type: 'jsonb', default: {} })
  counts: ErasureCounts;

  /** The number of successive looks that found no run of the club. */
  @Column({ type: 'smallint', default: 0 })
  emptyLooks: number;

  /** The slug of an erased club, which no other club may take for 90 days. Null afterwards. */
  @Column({ type: 'text', nullable: true })
  slug: string | null;

  @Column({ type: 'integer', default: 0 })
  fence: number;

  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;
}
