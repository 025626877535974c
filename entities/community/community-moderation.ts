/** An act of an administrator on a post or a comment of another author (COMM-13). The row is never changed, and is deleted after a year. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Administrator } from '../identity/administrator.ts';
import { oneOf } from '../one-of.ts';
import { CommunityComment } from './community-comment.ts';
import { CommunityPost } from './community-post.ts';
import { moderationActions, type ModerationAction } from './values.ts';

@Entity('community_moderations')
@Check('community_moderations_action', oneOf('action', moderationActions))
@Index('community_moderations_club', ['clubId', 'createdAt', 'id'])
@Index('community_moderations_created', ['createdAt'])
export class CommunityModeration {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  @Index('community_moderations_post')
  postId: string;

  @Column({ type: 'uuid', nullable: true })
  @Index('community_moderations_comment')
  commentId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('community_moderations_administrator')
  administratorId: string | null;

  @Column({ type: 'text' })
  action: ModerationAction;

  @Column({ type: 'text', nullable: true })
  reason: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => CommunityPost, { onDelete: 'CASCADE' })
  post: Relation<CommunityPost>;

  @ManyToOne(() => CommunityComment, { onDelete: 'CASCADE' })
  comment: Relation<CommunityComment>;

  @ManyToOne(() => Administrator, { onDelete: 'SET NULL' })
  administrator: Relation<Administrator>;
}
