/** A process of a build, and the time of its last sign of life. Migrations remove nothing from the schema while an older version runs. */
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

  /** The time of the last sign of life, by the database's clock. */
  @Column({ type: 'timestamptz' })
  beatAt: Date;
}
