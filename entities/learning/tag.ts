/** A tag that administrators put on students. The row of a deleted tag stays, because facts refer to the tag. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('tags')
@Index('tags_club_name', ['clubId', 'foldedName'], { unique: true, where: 'removed_at IS NULL' })
@Index('tags_club', ['clubId'])
export class Tag {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  name: string;

  /** The form of the name that is used for comparisons, so that the case of letters does not matter. */
  @Column({ type: 'text' })
  foldedName: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  removedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
