/**
 * A student's certificate of a course. A student has at most one certificate for each course, and a reissue changes its row. The row stores
 * the texts that the last issue printed. After the student is removed, the certificate keeps its code and its course, but not the name.
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Student } from '../identity/student.ts';
import { Course } from './course.ts';
import type { CertificateWarning } from './values.ts';

@Entity('certificates')
@Index('certificates_changed', ['clubId', 'changedAt'])
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

  /** Unformatted; never changes. */
  @Column({ type: 'text' })
  @Index('certificates_code', { unique: true })
  code: string;

  /** The version of the certificate. It begins at 1, and each reissue adds 1. */
  @Column({ type: 'integer', default: 1 })
  version: number;

  /** The printed name. Null after the student was removed. */
  @Column({ type: 'text', nullable: true })
  studentName: string | null;

  /** The folded name (docs/adr/0061-search-in-every-script.md); null if it is equal to the lower-case name. A trigger writes it. */
  @Column({ type: 'text', nullable: true, select: false, insert: false, update: false })
  studentNameFolded: string | null;

  /** The student's current e-mail, for searches; null after the student was removed. */
  @Column({ type: 'text', nullable: true })
  studentEmail: string | null;

  /** The printed title. */
  @Column({ type: 'text' })
  courseTitle: string;

  /** The printed name. */
  @Column({ type: 'text' })
  clubName: string;

  /**
   * The club's language at the first issue, as a BCP 47 tag. It decides the words, the direction of the text and the forms of Han
   * characters. Null in rows that are older than this column. Then the club's current language applies.
   */
  @Column({ type: 'text', nullable: true })
  language: string | null;

  /** The warnings about texts that cannot be printed as they were written. */
  @Column({ type: 'jsonb', default: [] })
  warnings: CertificateWarning[];

  /** The number of published lessons of the course, as printed. */
  @Column({ type: 'integer' })
  lessonCount: number;

  /** The printed hours. */
  @Column({ type: 'smallint', nullable: true })
  hours: number | null;

  /** The address at which the certificate is verified. This address is printed, so it never changes. */
  @Column({ type: 'text' })
  verifyUrl: string;

  /** The time of the completion. Null if an administrator issued the certificate before the student completed the course. */
  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  /** The time at which the certificate was first issued. */
  @Column({ type: 'timestamptz' })
  issuedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  revokedAt: Date | null;

  /** The reason for the revocation. It becomes null when the student is removed, because the text may mention the person. */
  @Column({ type: 'text', nullable: true })
  revokedReason: string | null;

  /** The time at which the student was removed. */
  @Column({ type: 'timestamptz', nullable: true })
  withdrawnAt: Date | null;

  /** The time of the last change of the row that a list shows (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Course)
  course: Relation<Course>;
}
