/** A club whose plan has gained or lost features. The upkeep then adjusts the club's data and deletes the row (MED-10). */
import { Column, Entity, Index, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('club_feature_changes')
@Index('club_feature_changes_at', ['changedAt'])
export class ClubFeatureChange {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'timestamptz' })
  changedAt: Date;

  @OneToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id' })
  club: Relation<Club>;
}
