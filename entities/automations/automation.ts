/**
 * An automation: a series of steps that the service carries out automatically for a student. It has a draft, and may have a published
 * version.
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';
import { automationStatuses, triggerKinds, type AutomationStatus, type TriggerKind } from './values.ts';

@Entity('automations')
@Check('automations_status', oneOf('status', automationStatuses))
@Check('automations_trigger_kind', oneOf('trigger_kind', triggerKinds))
@Check('automations_published', `(published_id IS NULL) = (trigger_kind IS NULL)`)
@Check('automations_running', `status NOT IN ('active', 'paused') OR published_id IS NOT NULL`)
@Index('automations_club', ['clubId', 'createdAt', 'id'])
@Index('automations_club_status', ['clubId', 'status', 'createdAt', 'id'])
@Index('automations_trigger', ['clubId', 'triggerKind'], { where: `status = 'active'` })
@Index('automations_gate', ['gateLooksAt'], { where: 'gate_looks_at IS NOT NULL' })
export class Automation {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text', default: 'draft' })
  status: AutomationStatus;

  /** The draft of the definition, in the form of the contract. It may be incomplete. */
  @Column({ type: 'jsonb' })
  draft: object;

  /** The revision of the name and the draft. Each change of the name or the draft increases the revision (AUTO-8). */
  @Column({ type: 'integer', default: 1 })
  revision: number;

  /** The version that new runs use. Null before the first publication. */
  @Column({ type: 'uuid', nullable: true })
  publishedId: string | null;

  /** The number of published versions. It is also the number of the last version. */
  @Column({ type: 'integer', default: 0 })
  versionCount: number;

  /** The kind of trigger that the published version has. */
  @Column({ type: 'text', nullable: true })
  triggerKind: TriggerKind | null;

  /** The time at which the automation's gate next checks the runs that it holds back. Null if the gate holds back no run. */
  @Column({ type: 'timestamptz', nullable: true })
  gateLooksAt: Date | null;

  /** The number of runs that the gate releases at its next check. */
  @Column({ type: 'smallint', default: 1 })
  gatePage: number;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
