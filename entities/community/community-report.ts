/** A report of a post or a comment by a student. Each student reports a target at most once (COMM-14). */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { oneOf } from '../one-of.ts';
import { CommunityComment } from './community-comment.ts';
import { CommunityPost } from './community-post.ts';
import { reportOutcomes, type ReportOutcome } from './values.ts';

@Entity('community_reports')
@Check('community_reports_outcome', oneOf('outcome', reportOutcomes))
@Check('community_reports_settled', `(settled_at IS NULL) = (outcome IS NULL)`)
@Index('community_reports_once', ['studentId', 'targetId'], { unique: true })
@Index('community_reports_open', ['clubId', 'createdAt', 'id'], { where: 'settled_at IS NULL' })
@Index('community_reports_target', ['targetId'])
@Index('community_reports_created', ['createdAt'])
export class CommunityReport {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  /** The reported comment, or the reported post. */
  @Column({ type: 'uuid' })
  targetId: string;

  @Column({ type: 'uuid' })
  @Index('community_reports_post')
  postId: string;

  @Column({ type: 'uuid', nullable: true })
  @Index('community_reports_comment')
  commentId: string | null;

  @Column({ type: 'text', nullable: true })
  reason: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  settledAt: Date | null;

  @Column({ type: 'text', nullable: true })
  outcome: ReportOutcome | null;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => CommunityPost, { onDelete: 'CASCADE' })
  post: Relation<CommunityPost>;

  @ManyToOne(() => CommunityComment, { onDelete: 'CASCADE' })
  comment: Relation<CommunityComment>;
}
