/** A comment on a post, or a reply to a comment (COMM-11). The row stays after a deletion, so that the id is never reused. */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Administrator } from '../identity/administrator.ts';
import { Student } from '../identity/student.ts';
import { oneOf } from '../one-of.ts';
import { CommunityPost } from './community-post.ts';
import { writingStates, type WritingState } from './values.ts';

@Entity('community_comments')
@Check('community_comments_state', oneOf('state', writingStates))
@Check('community_comments_words', `(state = 'published') = (body IS NOT NULL)`)
@Check('community_comments_author', `num_nonnulls(student_id, administrator_id) <= 1`)
@Index('community_comments_listed', ['postId', 'createdAt', 'id'], { where: `state <> 'deleted'` })
@Index('community_comments_student', ['studentId', 'postId'], { where: 'student_id IS NOT NULL' })
@Index('community_comments_hidden', ['studentId', 'postId'], {
  where: `hidden_at IS NOT NULL AND state <> 'deleted'`,
})
@Index('community_comments_replies', ['replyTo'], { where: 'reply_to IS NOT NULL' })
@Index('community_comments_all_of_post', ['postId'])
export class CommunityComment {
  /** The id of the comment, which the caller may choose. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  postId: string;

  /** The comment that this reply answers. A reply cannot answer another reply. */
  @Column({ type: 'uuid', nullable: true })
  replyTo: string | null;

  /** The author, if a student wrote the comment. */
  @Column({ type: 'uuid', nullable: true })
  studentId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('community_comments_administrator')
  administratorId: string | null;

  /** The text in Markdown, as it was written. Null after a deletion. */
  @Column({ type: 'text', nullable: true })
  body: string | null;

  @Column({ type: 'text', default: 'published' })
  state: WritingState;

  /** The time at which the comment was hidden. After this time, only the author and administrators see the comment. */
  @Column({ type: 'timestamptz', nullable: true })
  hiddenAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  editedAt: Date | null;

  @ManyToOne(() => CommunityPost, { onDelete: 'CASCADE' })
  post: Relation<CommunityPost>;

  @ManyToOne(() => CommunityComment, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'reply_to' })
  answered: Relation<CommunityComment>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Administrator, { onDelete: 'SET NULL' })
  administrator: Relation<Administrator>;
}
