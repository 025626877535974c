/** A file with all data of one student, from its request until it expires (EXP-1). It contains ids, counts and times only. */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Student } from '../identity/student.ts';
import { oneOf } from '../one-of.ts';
import { exportRequesters, studentExportStatuses, type ExportRequester, type StudentExportStatus } from './values.ts';

@Entity('student_exports')
@Check('student_exports_status', oneOf('status', studentExportStatuses))
@Check('student_exports_requester', oneOf('requested_by', exportRequesters))
@Check('student_exports_due', `(looks_at IS NOT NULL) = (status IN ('pending', 'running'))`)
@Check('student_exports_ready', `(expires_at IS NOT NULL) = (status IN ('ready', 'expired'))`)
@Index('student_exports_student', ['studentId', 'createdAt', 'id'])
@Index('student_exports_club', ['clubId', 'createdAt', 'id'])
@Index('student_exports_looks_at', ['looksAt'], { where: 'looks_at IS NOT NULL' })
@Index('student_exports_expiry', ['expiresAt'], { where: `status = 'ready'` })
@Index('student_exports_age', ['createdAt'], { where: 'looks_at IS NULL' })
export class StudentExport {
  /** Also names the file (`objectPrefixOf` in domain/exports/students/exports.policy.ts). */
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'student_exports_pkey' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  @Column({ type: 'text' })
  requestedBy: ExportRequester;

  /** The administrator, or the student. No foreign key, because the administrator's account may end before the row. */
  @Column({ type: 'uuid' })
  requesterId: string;

  @Column({ type: 'text', default: 'pending' })
  status: StudentExportStatus;

  /** The number of sections that the current attempt has read. */
  @Column({ type: 'smallint', default: 0 })
  sectionsDone: number;

  /** The claim that wrote the file, whose number is a part of the file's key. Null before the file is ready. */
  @Column({ type: 'integer', nullable: true })
  fileFence: number | null;

  @Column({ type: 'bigint', nullable: true })
  sizeBytes: string | null;

  /** The number of claims that did not end in a file. */
  @Column({ type: 'smallint', default: 0 })
  attempts: number;

  /** The fencing token: a later claim has a higher token (ENG-2). */
  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The end of the lease, if the worker does not renew it. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  /** The time by which the run must check the export again. Null after its end. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  /** When the file is removed. Null without a file. */
  @Column({ type: 'timestamptz', nullable: true })
  expiresAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'student_exports_club_id_fkey' })
  club: Relation<Club>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'student_id', foreignKeyConstraintName: 'student_exports_student_id_fkey' })
  student: Relation<Student>;
}
