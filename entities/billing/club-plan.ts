/** The plan to which a club has subscribed, according to the processor's notices. A club without a row has the default plan. */
import { Check, Column, Entity, Index, OneToOne, JoinColumn, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { planStatuses, planNames, type PlanName, type PlanStatus } from './values.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('club_plans')
@Check('club_plans_plan', oneOf('plan', planNames))
@Check('club_plans_status', oneOf('status', planStatuses))
@Index('club_plans_customer', ['customerId'], { unique: true, where: 'customer_id IS NOT NULL' })
export class ClubPlan {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  plan: PlanName;

  @Column({ type: 'text' })
  status: PlanStatus;

  /** The processor's customer id of the club. An event cannot change this club if it names the customer of a different club. */
  @Column({ type: 'text', nullable: true })
  customerId: string | null;

  @Column({ type: 'text', nullable: true })
  subscriptionId: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  currentPeriodEnd: Date | null;

  /** The currency of the subscription: the code of ISO 4217 in lower case. Null if no event stated a currency. */
  @Column({ type: 'text', nullable: true })
  currency: string | null;

  /** The time of the last event that changed the plan, by the processor's clock. Null before the first event. */
  @Column({ type: 'timestamptz', nullable: true })
  changedAt: Date | null;

  @OneToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id' })
  club: Relation<Club>;
}
