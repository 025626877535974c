/**
 * The amount by which one statement changed the tallies of a step. Triggers only add rows to this table, so that runs never wait for one
 * another.
 */
import { Column, Entity, Generated, PrimaryColumn } from 'typeorm';

@Entity('automation_step_changes')
export class AutomationStepChange {
  @PrimaryColumn({ type: 'uuid' })
  versionId: string;

  @PrimaryColumn({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  @Column({ type: 'text' })
  stepId: string;

  @Column({ type: 'integer', default: 0 })
  entered: number;

  @Column({ type: 'integer', default: 0 })
  departed: number;

  @Column({ type: 'integer', default: 0 })
  sent: number;

  @Column({ type: 'integer', default: 0 })
  opened: number;

  @Column({ type: 'integer', default: 0 })
  clicked: number;
}
