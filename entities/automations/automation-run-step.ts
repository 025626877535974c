/** A step on the path of a run, with its times and its outcome. A run passes a step once. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AutomationRun } from './automation-run.ts';

@Entity('automation_run_steps')
@Index('automation_run_steps_run', ['runId', 'stepId'], { unique: true })
export class AutomationRunStep {
  /** Also the cause of the points that the step awards. */
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

  /** The end of its wait at the latest. */
  @Column({ type: 'timestamptz', nullable: true })
  deadline: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  leftAt: Date | null;

  /** The outcome in the interpreter's terms, such as `sent`, `then` or `time_over`. Null before. */
  @Column({ type: 'text', nullable: true })
  outcome: string | null;

  /** The answers of the rules of its condition when it was decided, in their order. */
  @Column({ type: 'boolean', array: true, nullable: true })
  answers: boolean[] | null;

  @ManyToOne(() => AutomationRun, { onDelete: 'CASCADE' })
  run: Relation<AutomationRun>;
}
