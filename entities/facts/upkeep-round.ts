/** When an upkeep job has last done a round completely, whichever worker did it (ENG-5). */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('upkeep_rounds')
export class UpkeepRound {
  @PrimaryColumn({ type: 'text' })
  name: string;

  /** Null before the first. */
  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  /** Of a round in many parts: the last id that it has looked at; null at its beginning. */
  @Column({ type: 'uuid', nullable: true })
  position: string | null;
}
