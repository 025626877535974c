/** By how much a club was above an allowance that bills overage: the highest of a month, in the resource's unit. */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { resources, type Resource } from './values.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('overages')
@Check('overages_resource', oneOf('resource', resources))
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
