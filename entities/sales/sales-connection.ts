/** A sales platform that posts notices to a club. Its URL contains a token. Only the hash of the token is stored. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { salesPlatforms, type SalesPlatform } from './values.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('sales_connections')
@Check('sales_connections_platform', oneOf('platform', salesPlatforms))
/** A migration creates this index on the encrypted values, so TypeORM must not create it. */
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

  /** SHA-256 of the token in the URL. */
  @Column({ type: 'bytea' })
  @Index('sales_connections_token', { unique: true })
  tokenHash: Buffer;

  /** The platform's secret, encrypted. Null if the connection requires no proof besides its URL. */
  @Column({ type: 'bytea', nullable: true })
  secret: Buffer | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  /** The time at which the current token was created. */
  @Column({ type: 'timestamptz' })
  rotatedAt: Date;

  /**
   * The time at which the connection was deleted. After this time, the connection receives no more notices. Earlier notices and their
   * results stay.
   */
  @Column({ type: 'timestamptz', nullable: true })
  deletedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
