/**
 * An event of the payment processor, unique by its id. The row stores the event's data about a club's plan, and the outcome of the event.
 */
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { eventOutcomes, type EventOutcome, type PlanName, type PlanStatus } from './values.ts';
import { oneOf } from '../one-of.ts';

/** A row is never purged, because its key makes a repetition harmless. It has no personal data, but only ids, codes and times. */
@Entity('billing_events')
@Check('billing_events_outcome', oneOf('outcome', eventOutcomes))
@Index('billing_events_club', ['clubId', 'created'])
@Index('billing_events_invoice', ['invoiceId'], { where: 'invoice_id IS NOT NULL' })
@Index('billing_events_customer', ['customerId'], { where: 'club_id IS NULL' })
export class BillingEvent {
  /** The processor's id. */
  @PrimaryColumn({ type: 'text' })
  id: string;

  /**
   * The id of the club. Null while the club is unknown. The column has no foreign key, because an event of another environment may name a
   * club that does not exist in this database.
   */
  @Column({ type: 'uuid', nullable: true })
  clubId: string | null;

  @Column({ type: 'text' })
  type: string;

  /** The time of the event by the processor's clock, in whole seconds. Events are applied in the order of this time. */
  @Column({ type: 'timestamptz' })
  created: Date;

  @Column({ type: 'timestamptz' })
  receivedAt: Date;

  @Column({ type: 'text', nullable: true })
  customerId: string | null;

  @Column({ type: 'text', nullable: true })
  subscriptionId: string | null;

  /** Null if the event states no plan. */
  @Column({ type: 'text', nullable: true })
  plan: PlanName | null;

  @Column({ type: 'text', nullable: true })
  status: PlanStatus | null;

  @Column({ type: 'timestamptz', nullable: true })
  currentPeriodEnd: Date | null;

  /** The code of ISO 4217 in lower case. Null if the event states no currency of a subscription. */
  @Column({ type: 'text', nullable: true })
  currency: string | null;

  /** The processor's id of the invoice that was paid, or whose payment failed. */
  @Column({ type: 'text', nullable: true })
  invoiceId: string | null;

  @Column({ type: 'text' })
  outcome: EventOutcome;
}
