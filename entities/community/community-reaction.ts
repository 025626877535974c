/** A reaction to a post or a comment. Each author reacts at most once with each kind (COMM-12). */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';
import { reactionKinds, type ReactionKind } from './values.ts';

@Entity('community_reactions')
@Check('community_reactions_kind', oneOf('kind', reactionKinds))
@Index('community_reactions_club', ['clubId'])
export class CommunityReaction {
  /** The post or the comment to which the reaction belongs. */
  @PrimaryColumn({ type: 'uuid' })
  targetId: string;

  /** The student or the administrator who reacts. */
  @PrimaryColumn({ type: 'uuid' })
  @Index('community_reactions_author')
  authorId: string;

  @PrimaryColumn({ type: 'text' })
  kind: ReactionKind;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
