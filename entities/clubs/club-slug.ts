/**
 * A slug of a club: the current slug, or a former slug, which the club keeps for some time. Triggers of the table `clubs` write the row of
 * a new club.
 */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from './club.ts';

@Entity('club_slugs')
@Index('club_slugs_current', ['clubId'], { unique: true, where: 'answers_until IS NULL' })
export class ClubSlug {
  @PrimaryColumn({ type: 'text' })
  slug: string;

  @Column({ type: 'uuid' })
  @Index('club_slugs_club')
  clubId: string;

  /** The time from which another club may take the former slug. Null for the current slug. */
  @Column({ type: 'timestamptz', nullable: true })
  answersUntil: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
