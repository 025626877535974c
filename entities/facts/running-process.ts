/**
 * A running process of a build, and the time of its last heartbeat. While a process of an older version runs, migrations remove nothing
 * from the schema.
 */
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

  /** The time of the last heartbeat, by the database's clock. */
  @Column({ type: 'timestamptz' })
  beatAt: Date;
}
