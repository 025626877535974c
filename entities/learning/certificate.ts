/**
 * A student's certificate of a course: one for each pair, whatever is issued again. What is printed on it is kept as it
 * was at the last issue. A removed student's stays as code and course, without a name.
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Student } from '../identity/student.ts';
import { Course } from './course.ts';
import type { CertificateWarning } from './values.ts';

@Entity('certificates')
@Check('certificates_version', 'version >= 1')
@Check('certificates_revoked', `(revoked_reason IS NOT NULL) = (revoked_at IS NOT NULL AND withdrawn_at IS NULL)`)
@Check(
  'certificates_withdrawn_is_anonymous',
  `(withdrawn_at IS NULL) = (student_name IS NOT NULL) AND (withdrawn_at IS NULL) = (student_email IS NOT NULL)`,
)
@Index('certificates_student_course', ['studentId', 'courseId'], { unique: true })
@Index('certificates_club', ['clubId', 'issuedAt', 'id'])
@Index('certificates_course', ['courseId', 'issuedAt', 'id'])
@Index('certificates_club_valid', ['clubId', 'issuedAt', 'id'], { where: 'revoked_at IS NULL' })
@Index('certificates_club_revoked', ['clubId', 'issuedAt', 'id'], { where: 'revoked_at IS NOT NULL' })
@Index('certificates_course_valid', ['courseId', 'issuedAt', 'id'], { where: 'revoked_at IS NULL' })
@Index('certificates_course_revoked', ['courseId', 'issuedAt', 'id'], { where: 'revoked_at IS NOT NULL' })
@Index('certificates_search', { synchronize: false })
@Index('certificates_student_name_folded', { synchronize: false })
@Index('certificates_to_fold', ['id'], {
  where: 'student_name_folded IS NULL AND searched_spelling(student_name) <> lower(student_name)',
})
export class Certificate {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  @Column({ type: 'uuid' })
  courseId: string;

  /** Unformatted; stays the same for good. */
  @Column({ type: 'text' })
  @Index('certificates_code', { unique: true })
  code: string;

  /** From 1; one more with every re-issue. */
  @Column({ type: 'integer', default: 1 })
  version: number;

  /** As printed; null once the student is removed. */
  @Column({ type: 'text', nullable: true })
  studentName: string | null;

  /** Its usual spelling (docs/adr/0061-search-in-every-script.md), where that is not the same in small letters; a trigger writes it. */
  @Column({ type: 'text', nullable: true, select: false, insert: false, update: false })
  studentNameFolded: string | null;

  /** Follows the student's own, for searching; null once the student is removed. */
  @Column({ type: 'text', nullable: true })
  studentEmail: string | null;

  /** As printed. */
  @Column({ type: 'text' })
  courseTitle: string;

  /** As printed. */
  @Column({ type: 'text' })
  clubName: string;

  /**
   * BCP 47: the club's when the certificate was issued first; it decides about words, direction and forms of Han characters. Null for one
   * that was issued before certificates had a language, while its club has not changed its own: then it is the club's.
   */
  @Column({ type: 'text', nullable: true })
  language: string | null;

  /** What of it cannot be printed as it is written. */
  @Column({ type: 'jsonb', default: [] })
  warnings: CertificateWarning[];

  /** Published lessons of the course, as printed. */
  @Column({ type: 'integer' })
  lessonCount: number;

  /** As printed. */
  @Column({ type: 'smallint', nullable: true })
  hours: number | null;

  /** Where anyone can verify it; printed, so it stays as it was issued. */
  @Column({ type: 'text' })
  verifyUrl: string;

  /** Null for one that was issued by hand before the course was completed. */
  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  /** When it was issued first. */
  @Column({ type: 'timestamptz' })
  issuedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  revokedAt: Date | null;

  /** It may speak of the person: null again once the student is removed. */
  @Column({ type: 'text', nullable: true })
  revokedReason: string | null;

  /** When its student was removed. */
  @Column({ type: 'timestamptz', nullable: true })
  withdrawnAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Course)
  course: Relation<Course>;
}
