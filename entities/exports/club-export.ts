/** An export of all records of a club, with its progress (EXP-10). */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';
import { clubExportStatuses, type ClubExportProgress, type ClubExportStatus } from './values.ts';

@Entity('club_exports')
@Check('club_exports_status', oneOf('status', clubExportStatuses))
@Check(
  'club_exports_ready',
  `status <> 'ready' OR (ready_at IS NOT NULL AND expires_at IS NOT NULL AND archive_bytes IS NOT NULL)`,
)
@Check('club_exports_open', `status IN ('failed', 'expired') OR looks_at IS NOT NULL`)
@Index('club_exports_club', ['clubId', 'createdAt', 'id'])
@Index('club_exports_one_open', ['clubId'], { unique: true, where: `status IN ('pending', 'running')` })
@Index('club_exports_looks_at', ['looksAt'], { where: 'looks_at IS NOT NULL' })
@Index('club_exports_created', ['createdAt'])
export class ClubExport {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'club_exports_pkey' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The owner who asked. No foreign key, because the administrator may be erased. */
  @Column({ type: 'uuid' })
  requestedBy: string;

  @Column({ type: 'text' })
  status: ClubExportStatus;

  @Column({ type: 'jsonb' })
  progress: ClubExportProgress;

  /** The size of the complete archive in bytes. */
  @Column({ type: 'bigint', nullable: true })
  archiveBytes: string | null;

  /** The time of the next step: of the next records, of the end of the archive, or of its erasure. Null if nothing of it is stored. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  /** The fencing token: a later claim has a higher token (ENG-2). */
  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The end of the lease, if the worker does not renew it. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  startedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  readyAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  expiresAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'club_exports_club_id_fkey' })
  club: Relation<Club>;
}
