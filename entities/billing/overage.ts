/** By how much a club was above an allowance that bills overage: the highest of a month, in the resource's unit. */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import type { Resource } from '../../domain/billing/plans.policy.ts';
import { Club } from '../clubs/club.ts';

@Entity('overages')
@Check('overages_resource', `resource in ('students', 'storage_bytes', 'ai_budget')`)
@Check('overages_excess', 'excess > 0')
export class Overage {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  resource: Resource;

  /** Its first day, in the club's time zone. */
  @PrimaryColumn({ type: 'date' })
  month: string;

  @Column({ type: 'bigint' })
  excess: string;

  /** When the highest was reached. */
  @Column({ type: 'timestamptz' })
  reachedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
