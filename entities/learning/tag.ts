/** A tag that administrators put on students. A deleted tag stays for the facts that name it. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('tags')
@Index('tags_club_name', ['clubId', 'foldedName'], { unique: true, where: 'removed_at IS NULL' })
export class Tag {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  name: string;

  /** The name for comparisons, in which the case of letters does not matter. */
  @Column({ type: 'text' })
  foldedName: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  removedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
