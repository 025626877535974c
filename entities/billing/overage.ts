/**
 * The highest amount by which a club exceeded an allowance in one month, in the unit of the resource. Only allowances with billed overage
 * have rows.
 */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { planNames, resources, type PlanName, type Resource } from './values.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('overages')
@Check('overages_resource', oneOf('resource', resources))
@Check('overages_excess', 'excess > 0')
@Check('overages_plan', oneOf('plan', planNames))
export class Overage {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  resource: Resource;

  /** The first day of the month, in the club's time zone. */
  @PrimaryColumn({ type: 'date' })
  month: string;

  @Column({ type: 'bigint' })
  excess: string;

  @Column({ type: 'timestamptz' })
  reachedAt: Date;

  /** The plan under which the highest excess was reached. Its prices apply. Null in rows of earlier versions. */
  @Column({ type: 'text', nullable: true })
  plan: PlanName | null;

  /** The time at which the month was closed. Its excess never changes afterwards. */
  @Column({ type: 'timestamptz', nullable: true })
  closedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
