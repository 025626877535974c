/** When an upkeep job has last done a round completely, whichever worker did it (ENG-5). */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('upkeep_rounds')
export class UpkeepRound {
  @PrimaryColumn({ type: 'text' })
  name: string;

  @Column({ type: 'timestamptz' })
  completedAt: Date;
}
