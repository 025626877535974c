/** A lateness or a cancellation of a subscription, once by its key: told once, however often the platform sends it. */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Subscription } from './subscription.ts';

@Entity('subscription_marks')
@Check('subscription_marks_kind', `kind in ('late', 'canceled')`)
export class SubscriptionMark {
  @PrimaryColumn({ type: 'uuid' })
  subscriptionId: string;

  @PrimaryColumn({ type: 'text' })
  kind: 'late' | 'canceled';

  /** Of a lateness, the platform's; of a cancellation, its time. */
  @PrimaryColumn({ type: 'text' })
  key: string;

  /** The earliest that any notice of it states. */
  @Column({ type: 'timestamptz' })
  at: Date;

  /** Of a cancellation: until when the access goes on. */
  @Column({ type: 'timestamptz', nullable: true })
  periodEnd: Date | null;

  @ManyToOne(() => Subscription, { onDelete: 'CASCADE' })
  subscription: Relation<Subscription>;
}
