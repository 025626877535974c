/** The credential of a program that calls for a club (KEY-1). It survives its creator, and ends with its club. */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Administrator } from './administrator.ts';

@Entity('api_keys')
@Index('api_keys_club', ['clubId', 'createdAt', 'id'])
@Index('api_keys_creator', ['createdBy'])
@Index('api_keys_secret', ['secretHash'], { unique: true })
@Index('api_keys_previous_secret', ['previousSecretHash'], { unique: true, where: 'previous_secret_hash IS NOT NULL' })
@Index('api_keys_expiry', ['expiresAt'])
@Check('api_keys_rotation', '(previous_secret_hash IS NULL) = (previous_secret_expires_at IS NULL)')
export class ApiKey {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'api_keys_pkey' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  name: string;

  /** The permitted scopes, in alphabetical order. A scope that the contract does not know any more permits nothing. */
  @Column({ type: 'text', array: true })
  scopes: string[];

  /** The networks from which the key is accepted, in CIDR notation. Empty if the key is accepted from every network. */
  @Column({ type: 'text', array: true })
  allowedNetworks: string[];

  /** SHA-256 of the whole key. The key itself is not stored. */
  @Column({ type: 'bytea' })
  secretHash: Buffer;

  /** SHA-256 of the key from before the last rotation. Null if only the current key is accepted. */
  @Column({ type: 'bytea', nullable: true })
  previousSecretHash: Buffer | null;

  @Column({ type: 'timestamptz', nullable: true })
  previousSecretExpiresAt: Date | null;

  /** The administrator who created the key. Null if the account does not exist any more. */
  @Column({ type: 'uuid', nullable: true })
  createdBy: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @Column({ type: 'timestamptz' })
  expiresAt: Date;

  /** The time of the last use, exact to 5 minutes. Null before the first use. */
  @Column({ type: 'timestamptz', nullable: true })
  lastUsedAt: Date | null;

  /** Null unless the key was revoked. */
  @Column({ type: 'timestamptz', nullable: true })
  revokedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ foreignKeyConstraintName: 'api_keys_club_id_fkey' })
  club: Relation<Club>;

  @ManyToOne(() => Administrator, { onDelete: 'SET NULL' })
  @JoinColumn({ name: 'created_by', foreignKeyConstraintName: 'api_keys_created_by_fkey' })
  creator: Relation<Administrator>;
}
