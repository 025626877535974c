/** An event of the payment processor, once an id: what it says of a club's plan, and whether it was followed or why not. */
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { eventOutcomes, type EventOutcome, type PlanName, type PlanStatus } from './values.ts';
import { oneOf } from '../one-of.ts';

/** Never purged: its key is what makes a repetition do nothing. No personal data: ids, codes and times only. */
@Entity('billing_events')
@Check('billing_events_outcome', oneOf('outcome', eventOutcomes))
@Index('billing_events_club', ['clubId', 'created'])
@Index('billing_events_customer', ['customerId'], { where: 'club_id IS NULL' })
export class BillingEvent {
  /** The processor's. */
  @PrimaryColumn({ type: 'text' })
  id: string;

  /** Null while nothing says whose it is. Without a reference: an event of another environment names no club of ours. */
  @Column({ type: 'uuid', nullable: true })
  clubId: string | null;

  @Column({ type: 'text' })
  type: string;

  /** By the processor's clock, in whole seconds: the order in which events count. */
  @Column({ type: 'timestamptz' })
  created: Date;

  @Column({ type: 'timestamptz' })
  receivedAt: Date;

  @Column({ type: 'text', nullable: true })
  customerId: string | null;

  @Column({ type: 'text', nullable: true })
  subscriptionId: string | null;

  /** What it says; null where it says nothing of it. */
  @Column({ type: 'text', nullable: true })
  plan: PlanName | null;

  @Column({ type: 'text', nullable: true })
  status: PlanStatus | null;

  @Column({ type: 'timestamptz', nullable: true })
  currentPeriodEnd: Date | null;

  @Column({ type: 'text' })
  outcome: EventOutcome;
}
