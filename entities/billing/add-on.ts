/** Something bought beside the plan, by one payment. Its id is the buyer's choice, and the payment's idempotency key. */
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

  /** What the quantity adds to the allowance, in the resource's unit, as it was sold. */
  @Column({ type: 'bigint' })
  adds: string;

  /** The price in the smallest unit of the currency, as it was sold. */
  @Column({ type: 'integer' })
  amount: number;

  @Column({ type: 'text' })
  currency: string;

  @Column({ type: 'text' })
  status: AddOnStatus;

  /** Whom the processor charges, and what: fixed before the first attempt, so that every repetition asks for the same. */
  @Column({ type: 'text' })
  customerId: string;

  @Column({ type: 'text', nullable: true })
  paymentMethodId: string | null;

  /** The processor's payment. */
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

  /** Raised by each claim: only the last one may record. */
  @Column({ type: 'integer', default: 0 })
  fence: number;

  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
