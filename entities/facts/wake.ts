/** A request that a workflow looks again. One row per workflow. */
import { Column, Entity, Generated, Index, PrimaryColumn } from 'typeorm';
import type { Priority } from './values.ts';

@Entity('wakes')
@Index('wakes_turn', ['priority', 'clubId', 'dueAt'])
@Index('wakes_of_runs', ['clubId'], { where: `workflow_type = 'automationRun'` })
@Index('wakes_failing', ['recordedAt'], { where: `attempt_count > 0` })
export class Wake {
  /** The club whose share it uses; the nil uuid for work that belongs to no club. */
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  workflowId: string;

  /**
   * A new number from a sequence for each raise. The relay deletes only the number that it has sent. Numbers are unique, so a late delete
   * cannot remove a newer wake of the same workflow.
   */
  @Column({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  /** Whether another wake came while this row waited. Its run then most likely exists already. */
  @Column({ type: 'boolean', default: false })
  raised: boolean;

  @Column({ type: 'text' })
  workflowType: string;

  /** Names the workflow's row; the workflow's only argument. Usually an id. */
  @Column({ type: 'text' })
  subjectId: string;

  /** The search attributes by which an operator finds the run, if the wake must start it: only ids and event types. */
  @Column({ type: 'jsonb' })
  attributes: Readonly<Record<string, string>>;

  @Column({ type: 'timestamptz' })
  recordedAt: Date;

  /** The span in which it was written or last raised (W3C); null if the request is not traced. */
  @Column({ type: 'text', nullable: true })
  traceparent: string | null;

  /** Its priority. A raised wake keeps the more urgent one. */
  @Column({ type: 'smallint', default: 1 })
  priority: Priority;

  /** The time from which a relay may claim it, by the database's clock: immediately, or later after a failure. */
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' })
  dueAt: Date;

  /** The number of failed relays. */
  @Column({ type: 'smallint', default: 0 })
  attemptCount: number;

  /** The end of the relay's claim, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;
}
