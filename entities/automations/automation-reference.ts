/** A record that a version of an automation uses. The record cannot be deleted while the version is published or has active runs. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { AutomationVersion } from './automation-version.ts';
import { referredKinds, type ReferredKind } from './values.ts';

@Entity('automation_references')
@Check('automation_references_kind', oneOf('kind', referredKinds))
export class AutomationReference {
  @PrimaryColumn({ type: 'uuid' })
  versionId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('automation_references_referred')
  referredId: string;

  @Column({ type: 'text' })
  kind: ReferredKind;

  @ManyToOne(() => AutomationVersion, { onDelete: 'CASCADE' })
  version: Relation<AutomationVersion>;
}
