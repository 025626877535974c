/** An administrator's review of an attempt. Each attempt has at most one review. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Administrator } from '../identity/administrator.ts';
import { oneOf } from '../one-of.ts';
import { AssignmentAttempt } from './assignment-attempt.ts';
import { reviewOutcomes, type ReviewOutcome } from './values.ts';

@Entity('assignment_reviews')
@Check('assignment_reviews_outcome', oneOf('outcome', reviewOutcomes))
@Check('assignment_reviews_comment', `comment IS NOT NULL OR outcome = 'approved'`)
export class AssignmentReview {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  @Index('assignment_reviews_attempt', { unique: true })
  attemptId: string;

  @Column({ type: 'text' })
  outcome: ReviewOutcome;

  /** The comment for the student. It is required if the review requests changes. */
  @Column({ type: 'text', nullable: true })
  comment: string | null;

  /** Null after the administrator's account was deleted. */
  @Column({ type: 'uuid', nullable: true })
  @Index('assignment_reviews_reviewer')
  reviewerId: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => AssignmentAttempt, { onDelete: 'CASCADE' })
  attempt: Relation<AssignmentAttempt>;

  @ManyToOne(() => Administrator, { onDelete: 'SET NULL' })
  reviewer: Relation<Administrator>;
}
