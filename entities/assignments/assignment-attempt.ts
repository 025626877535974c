/** One attempt of a submission, with the student's text. AssignmentAttemptFile has its files. */
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

  /** From 1, in the order of sending. A withdrawn attempt leaves a gap. */
  @Column({ type: 'integer' })
  number: number;

  /** Null without a text. */
  @Column({ type: 'text', nullable: true })
  text: string | null;

  @Column({ type: 'timestamptz' })
  submittedAt: Date;

  @ManyToOne(() => AssignmentSubmission, { onDelete: 'CASCADE' })
  submission: Relation<AssignmentSubmission>;
}
