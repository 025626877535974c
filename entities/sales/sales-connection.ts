/** A sales platform that posts notices to a club: its address holds a token, of which only the hash is kept. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { salesPlatforms, type SalesPlatform } from './values.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('sales_connections')
@Check('sales_connections_platform', oneOf('platform', salesPlatforms))
/** Of sealed values: made by its migration. */
@Index('sales_connections_secret_key', { synchronize: false })
@Index('sales_connections_club', ['clubId', 'createdAt', 'id'])
export class SalesConnection {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  platform: SalesPlatform;

  @Column({ type: 'text' })
  name: string;

  /** SHA-256 of the token in the address. */
  @Column({ type: 'bytea' })
  @Index('sales_connections_token', { unique: true })
  tokenHash: Buffer;

  /** What the platform proves itself by, sealed; null for a connection that asks for no proof but its address. */
  @Column({ type: 'bytea', nullable: true })
  secret: Buffer | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  /** When the token became what it is. */
  @Column({ type: 'timestamptz' })
  rotatedAt: Date;

  /** Its notices and what they led to stay. */
  @Column({ type: 'timestamptz', nullable: true })
  deletedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
