/** The counts of one step of a version: the runs that entered and left the step, and the results of its e-mails. */
import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A count is exact only together with the changes that are not added to it yet (AutomationStepChange). One statement must read the count
 * and the changes.
 */
@Entity('automation_step_tallies')
export class AutomationStepTally {
  @PrimaryColumn({ type: 'uuid' })
  versionId: string;

  @PrimaryColumn({ type: 'text' })
  stepId: string;

  @Column({ type: 'integer' })
  entered: number;

  @Column({ type: 'integer' })
  departed: number;

  @Column({ type: 'integer' })
  sent: number;

  @Column({ type: 'integer' })
  opened: number;

  @Column({ type: 'integer' })
  clicked: number;
}
