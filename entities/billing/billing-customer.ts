/** The customer of a club at the payment processor, for checkouts. Each club has one, even if two checkouts begin at the same time (BILL-13). */
import { Column, Entity, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('billing_customers')
export class BillingCustomer {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'billing_customers_pkey' })
  clubId: string;

  @Column({ type: 'text' })
  customerId: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @OneToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'billing_customers_club_id_fkey' })
  club: Relation<Club>;
}
