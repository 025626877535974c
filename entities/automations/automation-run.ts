/**
 * One student's way through one version of an automation. The row is never deleted, because its unique keys prevent one fact from starting
 * two runs. The row stores the current step and the end of the wait. The workflow itself stores nothing and only waits.
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import type { Priority } from '../facts/values.ts';
import { Student } from '../identity/student.ts';
import { oneOf } from '../one-of.ts';
import { AutomationVersion } from './automation-version.ts';
import { Automation } from './automation.ts';
import {
  accessKinds,
  exitReasons,
  reentries,
  runStatuses,
  type AccessKind,
  type ExitReason,
  type Reentry,
  type RunStatus,
} from './values.ts';

@Entity('automation_runs')
@Check('automation_runs_status', oneOf('status', runStatuses))
@Check('automation_runs_exit_reason', oneOf('exit_reason', exitReasons))
@Check('automation_runs_exited', `(status = 'exited') = (exit_reason IS NOT NULL)`)
@Check('automation_runs_failed', `(status = 'failed') = (error_code IS NOT NULL)`)
@Check('automation_runs_ended', `(status = 'active') = (ended_at IS NULL)`)
@Check('automation_runs_looks', `status = 'active' OR (looks_at IS NULL AND parked_at IS NULL)`)
@Check('automation_runs_lives', `status <> 'active' OR (looks_at IS NULL) = (parked_at IS NOT NULL)`)
@Check('automation_runs_cursor', `status <> 'active' OR cursor IS NOT NULL`)
@Check('automation_runs_reentry', oneOf('reentry', reentries))
@Check('automation_runs_access', oneOf('access_kind', accessKinds))
@Index('automation_runs_cause', ['automationId', 'causeId', 'studentId'], { unique: true })
@Index('automation_runs_once', ['automationId', 'studentId'], { unique: true, where: `reentry = 'once'` })
@Index('automation_runs_after_exit', ['automationId', 'studentId'], {
  unique: true,
  where: `reentry = 'after_exit' AND status = 'active'`,
})
@Index('automation_runs_list', ['automationId', 'enteredAt', 'id'])
@Index('automation_runs_status_list', ['automationId', 'status', 'enteredAt', 'id'])
@Index('automation_runs_version_list', ['versionId', 'enteredAt', 'id'])
@Index('automation_runs_student_list', ['automationId', 'studentId', 'enteredAt', 'id'])
@Index('automation_runs_step_list', ['automationId', 'cursor', 'enteredAt', 'id'], { where: `status = 'active'` })
@Index('automation_runs_student', ['studentId'])
@Index('automation_runs_student_active', ['studentId'], { where: `status = 'active'` })
@Index('automation_runs_version_active', ['versionId'], { where: `status = 'active'` })
@Index('automation_runs_due', ['looksAt'], { where: 'looks_at IS NOT NULL' })
@Index('automation_runs_held', ['automationId', 'looksAt'], { where: `status = 'active'` })
@Index('automation_runs_ended_at', ['endedAt'], { where: 'path_kept AND ended_at IS NOT NULL' })
export class AutomationRun {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  automationId: string;

  @Column({ type: 'uuid' })
  versionId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  @Column({ type: 'text', default: 'active' })
  status: RunStatus;

  @Column({ type: 'text', nullable: true })
  exitReason: ExitReason | null;

  /** Why it failed. */
  @Column({ type: 'text', nullable: true })
  errorCode: string | null;

  /** The id of the fact, or an id that the caller chose. Each cause starts one run. */
  @Column({ type: 'uuid' })
  causeId: string;

  /** The reentry rule of the version that the run uses. The unique keys of the run depend on this rule. */
  @Column({ type: 'text' })
  reentry: Reentry;

  /** The priority of the fact that started the run. */
  @Column({ type: 'smallint', default: 1 })
  priority: Priority;

  /**
   * The access that the starting fact named. If `exit_on_access_lost` is set, the loss of this access ends the run. Null if any access
   * counts.
   */
  @Column({ type: 'text', nullable: true })
  accessKind: AccessKind | null;

  @Column({ type: 'uuid', nullable: true })
  accessId: string | null;

  /** Whether the run has seen, at least once since it began, that the student had this access. */
  @Column({ type: 'boolean', default: false })
  wasOpen: boolean;

  /** Automations can start one another. These are the times of the starts that led to this run, oldest first. */
  @Column({ type: 'jsonb', default: [] })
  links: readonly string[];

  /** The next step, or the step at which the run waits. */
  @Column({ type: 'text', nullable: true })
  cursor: string | null;

  /** The end of the wait at the step, which is fixed when the run enters the step. */
  @Column({ type: 'timestamptz', nullable: true })
  deadline: Date | null;

  /** Whether the run waits for a time or a fact. If false, the run is between two steps, and a fact of any type wakes it. */
  @Column({ type: 'boolean', default: false })
  waiting: boolean;

  /** The types of facts that make a waiting run check its conditions again. */
  @Column({ type: 'text', array: true, default: [] })
  watches: string[];

  /** The time at which the run next checks its state. Null while the automation is paused, and after the end of the run. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  /** The time from which the pause of the automation has stopped the run. */
  @Column({ type: 'timestamptz', nullable: true })
  parkedAt: Date | null;

  /** Whether the rows of the run's path still exist. */
  @Column({ type: 'boolean', default: true })
  pathKept: boolean;

  @Column({ type: 'timestamptz' })
  enteredAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  @ManyToOne(() => Automation, { onDelete: 'CASCADE' })
  automation: Relation<Automation>;

  @ManyToOne(() => AutomationVersion, { onDelete: 'CASCADE' })
  version: Relation<AutomationVersion>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
