/**
 * A late charge or a cancellation of a subscription, unique by its key. It causes only one event, even if the platform reports it several
 * times.
 */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { markKinds, type MarkKind } from './values.ts';
import { Subscription } from './subscription.ts';
import { oneOf } from '../one-of.ts';

@Entity('subscription_marks')
@Check('subscription_marks_kind', oneOf('kind', markKinds))
export class SubscriptionMark {
  @PrimaryColumn({ type: 'uuid' })
  subscriptionId: string;

  @PrimaryColumn({ type: 'text' })
  kind: MarkKind;

  /** The platform's key of a late charge, or the time of a cancellation. */
  @PrimaryColumn({ type: 'text' })
  key: string;

  /** The earliest time that any notice about the late charge or cancellation states. */
  @Column({ type: 'timestamptz' })
  at: Date;

  /** The end of the access after a cancellation. */
  @Column({ type: 'timestamptz', nullable: true })
  periodEnd: Date | null;

  @ManyToOne(() => Subscription, { onDelete: 'CASCADE' })
  subscription: Relation<Subscription>;
}
