/** A step on the path of a run: when the run came, when it left, and what became of it. A run passes a step once. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AutomationRun } from './automation-run.ts';

@Entity('automation_run_steps')
@Index('automation_run_steps_run', ['runId', 'stepId'], { unique: true })
export class AutomationRunStep {
  /** The cause of the points that the step awards. */
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

  /** Until when it waits at most. */
  @Column({ type: 'timestamptz', nullable: true })
  deadline: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  leftAt: Date | null;

  /** A word of the interpreter, such as `sent`, `then`, `time_over`; null before. */
  @Column({ type: 'text', nullable: true })
  outcome: string | null;

  /** What each rule of its condition answered when it was decided, in their order. */
  @Column({ type: 'boolean', array: true, nullable: true })
  answers: boolean[] | null;

  @ManyToOne(() => AutomationRun, { onDelete: 'CASCADE' })
  run: Relation<AutomationRun>;
}
