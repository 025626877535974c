/** A product on a sales platform. A sale of it grants its mapped deliveries. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('products')
@Check('products_platform', `platform ~ '^[a-z0-9][a-z0-9_-]{0,63}$'`)
@Index('products_identity', ['clubId', 'platform', 'externalId'], { unique: true })
@Index('products_club', ['clubId', 'createdAt', 'id'])
export class Product {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The platform's name, as in the URL of its notices. */
  @Column({ type: 'text' })
  platform: string;

  /** The id of the product on the sales platform. Ids are compared exactly. */
  @Column({ type: 'text' })
  externalId: string;

  @Column({ type: 'text' })
  name: string;

  /** Whether a partial refund also ends the access of a sale. If false, only a full refund does. */
  @Column({ type: 'boolean', default: false })
  partialRefundEndsAccess: boolean;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
