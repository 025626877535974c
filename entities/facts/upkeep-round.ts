/** When an upkeep job last completed a round, on any worker (ENG-5). */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('upkeep_rounds')
export class UpkeepRound {
  @PrimaryColumn({ type: 'text' })
  name: string;

  /** Null before the first round. */
  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  /** For a round in many parts: the last id that it has processed; null at its beginning. */
  @Column({ type: 'uuid', nullable: true })
  position: string | null;
}
