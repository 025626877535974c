/** One attempt of a submission, with the student's text. The files of the attempt are rows of AssignmentAttemptFile. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AssignmentSubmission } from './assignment-submission.ts';

@Entity('assignment_attempts')
@Index('assignment_attempts_number', ['submissionId', 'number'], { unique: true })
export class AssignmentAttempt {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  submissionId: string;

  /**
   * The number of the attempt, from 1, in the order in which the student sent the attempts. A withdrawn attempt leaves a gap in the
   * numbers.
   */
  @Column({ type: 'integer' })
  number: number;

  @Column({ type: 'text', nullable: true })
  text: string | null;

  @Column({ type: 'timestamptz' })
  submittedAt: Date;

  @ManyToOne(() => AssignmentSubmission, { onDelete: 'CASCADE' })
  submission: Relation<AssignmentSubmission>;
}
