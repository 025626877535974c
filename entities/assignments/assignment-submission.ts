/**
 * A student's submission for an assignment, with all attempts. Each student has at most one row per assignment. The row is deleted when the
 * student is removed.
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Student } from '../identity/student.ts';
import { oneOf } from '../one-of.ts';
import { Assignment } from './assignment.ts';
import { submissionStatuses, type SubmissionStatus } from './values.ts';

@Entity('assignment_submissions')
@Index('assignment_submissions_changed', ['clubId', 'changedAt'])
@Check('assignment_submissions_status', oneOf('status', submissionStatuses))
@Check('assignment_submissions_late', `(late IS NOT NULL) = (status = 'approved')`)
@Check('assignment_submissions_reviewed', `(reviewed_at IS NULL) = (status = 'submitted')`)
@Index('assignment_submissions_student_assignment', ['studentId', 'assignmentId'], { unique: true })
@Index('assignment_submissions_club', ['clubId', 'submittedAt', 'id'])
@Index('assignment_submissions_by_status', ['clubId', 'status', 'submittedAt', 'id'])
export class AssignmentSubmission {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  @Index('assignment_submissions_assignment')
  assignmentId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  @Column({ type: 'text' })
  status: SubmissionStatus;

  /**
   * The highest number that any attempt has had. A number is never used for a second attempt, so that a review cannot refer to the wrong
   * attempt.
   */
  @Column({ type: 'integer' })
  lastNumber: number;

  /** The deadline at the time when the student first sent the work. Null if the assignment had no deadline at that time. */
  @Column({ type: 'timestamptz', nullable: true })
  dueAt: Date | null;

  @Column({ type: 'timestamptz' })
  firstSubmittedAt: Date;

  @Column({ type: 'timestamptz' })
  submittedAt: Date;

  @Column({ type: 'smallint' })
  fileCount: number;

  @Column({ type: 'timestamptz', nullable: true })
  reviewedAt: Date | null;

  /**
   * Whether the work was late. The approval stores this value permanently. Null before the approval, because a new deadline can still
   * change whether the work is late.
   */
  @Column({ type: 'boolean', nullable: true })
  late: boolean | null;

  /** The time of the last change of the row that a list shows (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Assignment, { onDelete: 'CASCADE' })
  assignment: Relation<Assignment>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
