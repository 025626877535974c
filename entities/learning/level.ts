/** A level of a club, and the number of points at which it begins. The row of a deleted level stays, because facts refer to the level. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('levels')
@Index('levels_club_points', ['clubId', 'points'], { unique: true, where: 'removed_at IS NULL' })
@Index('levels_club', ['clubId'])
export class Level {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'integer' })
  points: number;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  removedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
