/**
 * A student's certificate of a course: one per pair, also after a reissue. The row keeps the printed texts of the last issue. A removed
 * student's certificate stays with its code and course, without a name.
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

  /** Unformatted; never changes. */
  @Column({ type: 'text' })
  @Index('certificates_code', { unique: true })
  code: string;

  /** From 1; plus one with every reissue. */
  @Column({ type: 'integer', default: 1 })
  version: number;

  /** The printed name; null once the student is removed. */
  @Column({ type: 'text', nullable: true })
  studentName: string | null;

  /** The folded name (docs/adr/0061-search-in-every-script.md); null if it equals the lower-case name. A trigger writes it. */
  @Column({ type: 'text', nullable: true, select: false, insert: false, update: false })
  studentNameFolded: string | null;

  /** The student's current e-mail, for searches; null once the student is removed. */
  @Column({ type: 'text', nullable: true })
  studentEmail: string | null;

  /** The printed title. */
  @Column({ type: 'text' })
  courseTitle: string;

  /** The printed name. */
  @Column({ type: 'text' })
  clubName: string;

  /**
   * BCP 47: the club's language at the first issue. It decides words, direction and forms of Han characters. Null for a certificate from
   * before this column, while its club has not changed its language: the club's language then applies.
   */
  @Column({ type: 'text', nullable: true })
  language: string | null;

  /** Texts that cannot be printed as written. */
  @Column({ type: 'jsonb', default: [] })
  warnings: CertificateWarning[];

  /** Published lessons of the course, as printed. */
  @Column({ type: 'integer' })
  lessonCount: number;

  /** The printed hours. */
  @Column({ type: 'smallint', nullable: true })
  hours: number | null;

  /** The address of its verification. It is printed, so it never changes. */
  @Column({ type: 'text' })
  verifyUrl: string;

  /** Null if it was issued by hand before the course was completed. */
  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  /** When it was issued first. */
  @Column({ type: 'timestamptz' })
  issuedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  revokedAt: Date | null;

  /** The reason may speak of the person: null again once the student is removed. */
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
