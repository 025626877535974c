/** Stores when an upkeep job last completed a round, on any worker (ENG-5). */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('upkeep_rounds')
export class UpkeepRound {
  @PrimaryColumn({ type: 'text' })
  name: string;

  /** The time at which the last round was completed. Null before the first round. */
  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  /** The last id that the current round has processed, if the round has many parts. Null at the beginning of a round. */
  @Column({ type: 'uuid', nullable: true })
  position: string | null;
}
