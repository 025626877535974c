/** A request that asks a workflow to check its row again. Each workflow has at most one such request. */
import { Column, Entity, Generated, Index, PrimaryColumn } from 'typeorm';
import type { Priority } from './values.ts';

@Entity('wakes')
@Index('wakes_turn', ['priority', 'clubId', 'dueAt'])
@Index('wakes_of_runs', ['clubId'], { where: `workflow_type = 'automationRun'` })
@Index('wakes_failing', ['recordedAt'], { where: `attempt_count > 0` })
export class Wake {
  /**
   * The clubs share the capacity of the relay. This is the club whose share the wake uses, or the nil uuid if the work belongs to no club.
   */
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  workflowId: string;

  /**
   * A number from a sequence. Each time the wake is raised, it gets a new number. The relay deletes the row only if it still has the number
   * that the
   * relay has sent. So a late delete cannot remove a newer wake of the same workflow.
   */
  @Column({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  /** Whether the wake was raised again while this row waited. If so, the run most likely exists already. */
  @Column({ type: 'boolean', default: false })
  raised: boolean;

  @Column({ type: 'text' })
  workflowType: string;

  /** The only argument of the workflow, which names the workflow's row. It is usually an id. */
  @Column({ type: 'text' })
  subjectId: string;

  /**
   * The search attributes that the run gets if this wake starts the run. Operators use these attributes to find the run. They contain only
   * ids and event types.
   */
  @Column({ type: 'jsonb' })
  attributes: Readonly<Record<string, string>>;

  @Column({ type: 'timestamptz' })
  recordedAt: Date;

  /** The span in which the wake was written or last raised (W3C); null if the request is not traced. */
  @Column({ type: 'text', nullable: true })
  traceparent: string | null;

  /** The priority of the wake. If a wake is raised again, it keeps the more urgent priority. */
  @Column({ type: 'smallint', default: 1 })
  priority: Priority;

  /** The time from which a relay may claim the wake, by the database's clock: immediately, or later after a failure. */
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' })
  dueAt: Date;

  @Column({ type: 'smallint', default: 0 })
  attemptCount: number;

  /** The time at which the relay's claim ends, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;
}
