/** A published definition of an automation. It never changes, because each run follows one version to its end. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Automation } from './automation.ts';
import { triggerKinds, type TriggerKind } from './values.ts';

@Entity('automation_versions')
@Check('automation_versions_trigger_kind', oneOf('trigger_kind', triggerKinds))
@Check('automation_versions_number', 'number > 0')
@Index('automation_versions_of', ['automationId', 'number'], { unique: true })
export class AutomationVersion {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  automationId: string;

  /** The number of the version, from 1, without gaps. */
  @Column({ type: 'integer' })
  number: number;

  /**
   * The version of the rules by which the definition must be read. A release that changes the meaning of definitions uses a new number.
   */
  @Column({ type: 'smallint', default: 1 })
  language: number;

  @Column({ type: 'text' })
  triggerKind: TriggerKind;

  /** The definition in the form of the contract. */
  @Column({ type: 'jsonb' })
  definition: object;

  /** The compiled e-mail of each step, by the step's id. */
  @Column({ type: 'jsonb' })
  compiled: object;

  @Column({ type: 'timestamptz' })
  publishedAt: Date;

  @ManyToOne(() => Automation, { onDelete: 'CASCADE' })
  automation: Relation<Automation>;
}
