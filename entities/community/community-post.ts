/** A post in a space, by a student or an administrator (COMM-10). The row stays after a deletion, so that the id is never reused. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Administrator } from '../identity/administrator.ts';
import { Student } from '../identity/student.ts';
import { oneOf } from '../one-of.ts';
import { CommunitySpace } from './community-space.ts';
import { writingStates, type WritingState } from './values.ts';

@Entity('community_posts')
@Check('community_posts_state', oneOf('state', writingStates))
@Check('community_posts_words', `(state = 'published') = (body IS NOT NULL) AND (title IS NULL OR state = 'published')`)
@Check('community_posts_author', `num_nonnulls(student_id, administrator_id) <= 1`)
@Index('community_posts_club_public_id', ['clubId', 'publicId'], { unique: true })
@Index('community_posts_listed', ['spaceId', 'pinned', 'createdAt', 'id'], { where: `state <> 'deleted'` })
@Index('community_posts_visible', ['spaceId', 'createdAt'], { where: `state = 'published' AND hidden_at IS NULL` })
@Index('community_posts_student', ['studentId', 'spaceId'], { where: 'student_id IS NOT NULL' })
@Index('community_posts_hidden', ['studentId', 'spaceId'], { where: `hidden_at IS NOT NULL AND state <> 'deleted'` })
@Index('community_posts_all_of_space', ['spaceId'])
export class CommunityPost {
  /** The id of the post, which the caller may choose. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  spaceId: string;

  /** The name of the post in classroom URLs. It is derived from the id of the post. */
  @Column({ type: 'text' })
  publicId: string;

  /** The author, if a student wrote the post. */
  @Column({ type: 'uuid', nullable: true })
  studentId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('community_posts_administrator')
  administratorId: string | null;

  @Column({ type: 'text', nullable: true })
  title: string | null;

  /** The text in Markdown, as it was written. Null after a deletion. */
  @Column({ type: 'text', nullable: true })
  body: string | null;

  @Column({ type: 'text', default: 'published' })
  state: WritingState;

  @Column({ type: 'boolean', default: false })
  pinned: boolean;

  /** Whether the post is closed for further comments of students. */
  @Column({ type: 'boolean', default: false })
  locked: boolean;

  /** The time at which the post was hidden. After this time, only the author and administrators see the post. */
  @Column({ type: 'timestamptz', nullable: true })
  hiddenAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  editedAt: Date | null;

  @ManyToOne(() => CommunitySpace, { onDelete: 'CASCADE' })
  space: Relation<CommunitySpace>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Administrator, { onDelete: 'SET NULL' })
  administrator: Relation<Administrator>;
}
