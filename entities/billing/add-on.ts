/**
 * An add-on that a club bought in addition to its plan, by one payment. The buyer chooses the id, which is also the payment's idempotency
 * key.
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { addOnStatuses, addOnKinds, type AddOnKind, type AddOnStatus } from './values.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('add_ons')
@Check('add_ons_kind', oneOf('kind', addOnKinds))
@Check('add_ons_status', oneOf('status', addOnStatuses))
@Check('add_ons_settled', `(status = 'pending') = (settled_at IS NULL)`)
@Check('add_ons_paid', `status <> 'active' OR payment_id IS NOT NULL`)
@Check('add_ons_quantity', 'quantity > 0')
@Index('add_ons_club', ['clubId', 'createdAt', 'id'])
@Index('add_ons_due', ['nextAttemptAt'], { where: `status = 'pending'` })
export class AddOn {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  kind: AddOnKind;

  /** In packages. */
  @Column({ type: 'integer' })
  quantity: number;

  /** The amount by which the add-on increases the allowance, in the unit of the resource, as it was at the sale. */
  @Column({ type: 'bigint' })
  adds: string;

  /** The price in the smallest unit of the currency, as it was at the sale. */
  @Column({ type: 'integer' })
  amount: number;

  @Column({ type: 'text' })
  currency: string;

  @Column({ type: 'text' })
  status: AddOnStatus;

  /**
   * The processor's customer and payment method. They are fixed before the first attempt, so that every repeated attempt sends identical
   * data.
   */
  @Column({ type: 'text' })
  customerId: string;

  @Column({ type: 'text', nullable: true })
  paymentMethodId: string | null;

  @Column({ type: 'text', nullable: true })
  paymentId: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  settledAt: Date | null;

  @Column({ type: 'timestamptz' })
  nextAttemptAt: Date;

  @Column({ type: 'integer', default: 0 })
  attemptCount: number;

  /** The fencing token. Each claim increases it. Only the current claim may record an outcome. */
  @Column({ type: 'integer', default: 0 })
  fence: number;

  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
