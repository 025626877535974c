/** A process of a build, and the time of its last sign of life. The schema is not contracted while an older version runs. */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('running_processes')
export class RunningProcess {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  /** `api` or `worker`. */
  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text' })
  buildId: string;

  @Column({ type: 'text' })
  version: string;

  /** The time by the database's clock. */
  @Column({ type: 'timestamptz' })
  beatAt: Date;
}
