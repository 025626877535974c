/** A build that was promoted: one of them is current, and its relays alone claim facts and wakes (ENG-19). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('releases')
@Index('releases_current', ['isCurrent'], { where: 'is_current', unique: true })
export class Release {
  /** As dist/build.json has it. */
  @PrimaryColumn({ type: 'text' })
  buildId: string;

  @Column({ type: 'text' })
  version: string;

  /** The last time. */
  @Column({ type: 'timestamptz' })
  promotedAt: Date;

  @Column({ type: 'boolean' })
  isCurrent: boolean;
}
