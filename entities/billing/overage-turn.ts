/**
 * Each row belongs to a club that exceeds an allowance. The row stores the time at which the club's next month begins. At that time, the
 * remaining excess is recorded for the new month (BILL-7).
 */
import { Column, Entity, Index, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('overage_turns')
@Index('overage_turns_due', ['turnsAt'])
export class OverageTurn {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  /** The beginning of the month in the club's time zone. */
  @Column({ type: 'timestamptz' })
  turnsAt: Date;

  @OneToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id' })
  club: Relation<Club>;
}
