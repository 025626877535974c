/** A club: the organization that sells courses and a community. Its id is the `{clubId}` of every scoped path. */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('clubs')
export class Club {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'text' })
  name: string;

  /** Part of the classroom's address; unique over all clubs. */
  @Column({ type: 'text', unique: true })
  slug: string;

  /** IANA name; the month of the AI budget and local-time waits are counted in it. */
  @Column({ type: 'text', default: 'UTC' })
  timeZone: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
