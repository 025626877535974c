/** The charge for the overage of one resource in one ended month of a club (BILL-8). */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import {
  billedResources,
  overageChargeReasons,
  overageChargeStatuses,
  planNames,
  type BilledResource,
  type OverageChargeReason,
  type OverageChargeStatus,
  type PlanName,
} from './values.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('overage_charges')
@Check('overage_charges_resource', oneOf('resource', billedResources))
@Check('overage_charges_plan', oneOf('plan', planNames))
@Check('overage_charges_status', oneOf('status', overageChargeStatuses))
@Check('overage_charges_reason', oneOf('reason', overageChargeReasons))
@Check('overage_charges_settled', `(status = 'pending') = (settled_at IS NULL)`)
@Check('overage_charges_invoiced', `status <> 'invoiced' OR (item_id IS NOT NULL AND invoice_id IS NOT NULL)`)
@Check('overage_charges_charged', '(item_id IS NULL) = (charged_at IS NULL)')
@Check('overage_charges_packs', 'packs > 0')
@Index('overage_charges_month', ['clubId', 'month', 'resource'], { unique: true })
@Index('overage_charges_due', ['nextAttemptAt'], { where: `status = 'pending'` })
@Index('overage_charges_held', ['createdAt'], { where: `item_id IS NULL AND status IN ('pending', 'failed')` })
export class OverageCharge {
  /** The id is derived from club, resource and month. So a row that was lost and written again has the same id. */
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'overage_charges_pkey' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  resource: BilledResource;

  /** The first day of the month, in the time zone that the club had. */
  @Column({ type: 'date' })
  month: string;

  /** The highest excess of the month, in the unit of the resource. */
  @Column({ type: 'bigint' })
  excess: string;

  /** The number of begun packs of the excess. */
  @Column({ type: 'integer' })
  packs: number;

  /** The plan whose prices apply. */
  @Column({ type: 'text' })
  plan: PlanName;

  @Column({ type: 'text' })
  status: OverageChargeStatus;

  @Column({ type: 'text', nullable: true })
  reason: OverageChargeReason | null;

  /** The processor's customer. It is fixed together with the amount, so that every repetition with one key sends identical data. */
  @Column({ type: 'text', nullable: true })
  customerId: string | null;

  /** In the smallest unit of the currency. */
  @Column({ type: 'bigint', nullable: true })
  amount: string | null;

  @Column({ type: 'text', nullable: true })
  currency: string | null;

  /** The number of the current idempotency key. A key is used for some hours only, because the processor forgets it. */
  @Column({ type: 'integer', default: 0 })
  keyNumber: number;

  /** The first use of the current idempotency key. Null if the next attempt needs a new key. */
  @Column({ type: 'timestamptz', nullable: true })
  keyedAt: Date | null;

  /** The processor's id of the invoice item. Null until the item exists. */
  @Column({ type: 'text', nullable: true })
  itemId: string | null;

  @Column({ type: 'text', nullable: true })
  invoiceId: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  chargedAt: Date | null;

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
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'overage_charges_club_id_fkey' })
  club: Relation<Club>;
}
