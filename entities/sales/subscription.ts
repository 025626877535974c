/**
 * One subscription, identified by the id that the sales platform uses. The state of the subscription results from the charges, late charges
 * and cancellations.
 * The row is never removed.
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { subscriptionStatuses, type SaleTarget, type SalesPlatform, type SubscriptionStatus } from './values.ts';
import { Student } from '../identity/student.ts';
import { Product } from './product.ts';
import { oneOf } from '../one-of.ts';

@Entity('subscriptions')
@Index('subscriptions_changed', ['clubId', 'changedAt'])
@Check('subscriptions_status', oneOf('status', subscriptionStatuses))
@Index('subscriptions_identity', ['clubId', 'platform', 'externalId'], { unique: true })
@Index('subscriptions_club', ['clubId', 'createdAt', 'id'])
@Index('subscriptions_student', ['studentId', 'createdAt', 'id'])
@Index('subscriptions_end', ['endLooksAt'], { where: 'end_looks_at IS NOT NULL' })
export class Subscription {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  @Column({ type: 'uuid' })
  @Index('subscriptions_product')
  productId: string;

  @Column({ type: 'text' })
  platform: SalesPlatform;

  @Column({ type: 'text' })
  externalId: string;

  @Column({ type: 'text', default: 'active' })
  status: SubscriptionStatus;

  /** The end of the current period according to the latest notice. The time that a notice states decides which notice is the latest. */
  @Column({ type: 'timestamptz', nullable: true })
  currentPeriodEnd: Date | null;

  /** The time that is stated in the notice from which the end of the period comes. */
  @Column({ type: 'timestamptz', nullable: true })
  periodStatedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  pastDueSince: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  canceledAt: Date | null;

  /** The number of steps whose events were recorded. A step is a cancellation, or a charge that resumes the subscription. */
  @Column({ type: 'smallint', default: 0 })
  stepsTaken: number;

  /** The target of the subscription's access that was last applied. */
  @Column({ type: 'jsonb', default: { kind: 'open' } })
  accessTarget: SaleTarget;

  /** The end that each enrollment of the subscription had before a cancellation changed it. Null for an enrollment that had no end. */
  @Column({ type: 'jsonb', default: '{}' })
  endsBefore: Record<string, string | null>;

  /** The time at which the timer next checks the end of the access. Null if there is no timer. */
  @Column({ type: 'timestamptz', nullable: true })
  endLooksAt: Date | null;

  /** The time at which the access really ended, because its recorded end was reached. */
  @Column({ type: 'timestamptz', nullable: true })
  accessEndedAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Product)
  product: Relation<Product>;
}
