/** A promoted build. One build is current, and only its relays claim facts and wakes (ENG-19). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('releases')
@Index('releases_current', ['isCurrent'], { where: 'is_current', unique: true })
export class Release {
  /** The build's id in dist/build.json. */
  @PrimaryColumn({ type: 'text' })
  buildId: string;

  @Column({ type: 'text' })
  version: string;

  /** The time at which the build was last promoted. */
  @Column({ type: 'timestamptz' })
  promotedAt: Date;

  @Column({ type: 'boolean' })
  isCurrent: boolean;
}
