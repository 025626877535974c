/** That a workflow must look again. One row for each workflow. */
import { Column, Entity, Generated, Index, PrimaryColumn } from 'typeorm';
import type { Priority } from './values.ts';

@Entity('wakes')
@Index('wakes_turn', ['priority', 'clubId', 'dueAt'])
@Index('wakes_of_runs', ['clubId'], { where: `workflow_type = 'automationRun'` })
@Index('wakes_failing', ['recordedAt'], { where: `attempt_count > 0` })
export class Wake {
  /** Whose turn it counts against; the nil uuid for what belongs to no club. */
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  workflowId: string;

  /**
   * From a sequence, anew with each raise: the relay deletes only the number that it has sent. No number comes twice, so a
   * late delete cannot remove a newer wake of the same workflow.
   */
  @Column({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  /** Whether a wake came while this one waited: its run is there already, most likely. */
  @Column({ type: 'boolean', default: false })
  raised: boolean;

  @Column({ type: 'text' })
  workflowType: string;

  /** Names the row that the workflow is about: its only argument. An id, most of the time. */
  @Column({ type: 'text' })
  subjectId: string;

  /** What an operator finds the run by, should the wake have to start it: ids and event types alone. */
  @Column({ type: 'jsonb' })
  attributes: Readonly<Record<string, string>>;

  @Column({ type: 'timestamptz' })
  recordedAt: Date;

  /** The span that it was written in, or raised in last (W3C); null where nothing is traced. */
  @Column({ type: 'text', nullable: true })
  traceparent: string | null;

  /** How urgent it is; a raised wake keeps the more urgent one. */
  @Column({ type: 'smallint', default: 1 })
  priority: Priority;

  /** From when a relay may take it, by the database's clock: at once, and later after a failure. */
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' })
  dueAt: Date;

  /** How often it could not be carried on. */
  @Column({ type: 'smallint', default: 0 })
  attemptCount: number;

  /** Until when a relay works on it, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;
}
