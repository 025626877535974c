/** One purchase, or one charge of a subscription. It is identified by the id that the sales platform uses. The row is never removed. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { purchaseStatuses, type PurchaseStatus, type SalesPlatform } from './values.ts';
import { Student } from '../identity/student.ts';
import { Product } from './product.ts';
import { Subscription } from './subscription.ts';
import { oneOf } from '../one-of.ts';

@Entity('purchases')
@Index('purchases_changed', ['clubId', 'changedAt'])
@Check('purchases_status', oneOf('status', purchaseStatuses))
@Check('purchases_amount', 'amount >= 0')
@Index('purchases_identity', ['clubId', 'platform', 'externalId'], { unique: true })
@Index('purchases_club', ['clubId', 'createdAt', 'id'])
@Index('purchases_student', ['studentId', 'createdAt', 'id'])
@Index('purchases_subscription', ['subscriptionId', 'paidAt'], { where: 'subscription_id IS NOT NULL' })
export class Purchase {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  @Column({ type: 'uuid' })
  @Index('purchases_product')
  productId: string;

  /** The subscription to which this charge belongs. */
  @Column({ type: 'uuid', nullable: true })
  subscriptionId: string | null;

  @Column({ type: 'text' })
  platform: SalesPlatform;

  @Column({ type: 'text' })
  externalId: string;

  @Column({ type: 'text', default: 'paid' })
  status: PurchaseStatus;

  /** The amount in the smallest unit of the currency. */
  @Column({ type: 'bigint' })
  amount: string;

  @Column({ type: 'text' })
  currency: string;

  /**
   * The number of decimals with which a decimal amount was read. Null for an amount in the smallest unit, and for rows of older releases.
   */
  @Column({ type: 'smallint', nullable: true })
  amountDecimals: number | null;

  /** The highest refund that any notice states. Null if there was no refund, and for rows of older releases. */
  @Column({ type: 'bigint', nullable: true })
  refundedAmount: string | null;

  /**
   * The rank of the notice from which the amount and the currency come. A notice about a payment has a higher rank than a notice about a
   * refund.
   */
  @Column({ type: 'smallint' })
  termsRank: number;

  /** The time that is stated in the notice from which the amount and the currency come. */
  @Column({ type: 'timestamptz' })
  termsAt: Date;

  /** The earliest payment time that any notice states. */
  @Column({ type: 'timestamptz' })
  paidAt: Date;

  /** The earliest time of a refund or chargeback that any notice states. */
  @Column({ type: 'timestamptz', nullable: true })
  refundedAt: Date | null;

  /** The time at which `purchase.refunded` was recorded. It is recorded once. */
  @Column({ type: 'timestamptz', nullable: true })
  undoneAt: Date | null;

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

  @ManyToOne(() => Subscription)
  subscription: Relation<Subscription>;
}
