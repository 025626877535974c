/** A club's AI budget in a month of its time zone: the spent and the reserved amounts, in millionths of a US dollar. */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('club_ai_months')
@Check('club_ai_months_amounts', 'spent_micros >= 0 AND reserved_micros >= 0')
export class ClubAiMonth {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  /** The first day of the month. */
  @PrimaryColumn({ type: 'date' })
  month: string;

  @Column({ type: 'bigint', default: 0 })
  spentMicros: string;

  @Column({ type: 'bigint', default: 0 })
  reservedMicros: string;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
