/** When the next month begins for a club that was beyond an allowance: what it still has beyond it is recorded anew then (BILL-7). */
import { Column, Entity, Index, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('overage_turns')
@Index('overage_turns_due', ['turnsAt'])
export class OverageTurn {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  /** The first moment of the month, in the club's time zone. */
  @Column({ type: 'timestamptz' })
  turnsAt: Date;

  @OneToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id' })
  club: Relation<Club>;
}
