/** A lateness or a cancellation of a subscription, once by its key: it raises one event, however often the platform sends it. */
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
