/** A step that a run has reached, with its times and its outcome. A run reaches each step only once. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AutomationRun } from './automation-run.ts';

@Entity('automation_run_steps')
@Index('automation_run_steps_run', ['runId', 'stepId'], { unique: true })
export class AutomationRunStep {
  /** The id of the entry. It is also the cause of the points that the step awards. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'uuid' })
  versionId: string;

  @Column({ type: 'text' })
  stepId: string;

  @Column({ type: 'timestamptz' })
  enteredAt: Date;

  /** The time at which the wait at the step ends at the latest. */
  @Column({ type: 'timestamptz', nullable: true })
  deadline: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  leftAt: Date | null;

  /** The outcome, in the words of the automation interpreter, such as `sent`, `then` or `time_over`. Null before the step is completed. */
  @Column({ type: 'text', nullable: true })
  outcome: string | null;

  /** Whether each rule of a condition was true when the step decided, in the order of the rules. */
  @Column({ type: 'boolean', array: true, nullable: true })
  answers: boolean[] | null;

  @ManyToOne(() => AutomationRun, { onDelete: 'CASCADE' })
  run: Relation<AutomationRun>;
}
