/** A person who has signed in at an identity provider and is not joined to an account yet (OIDC-6). It lasts 15 minutes. */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { IdentityProvider } from './identity-provider.ts';

@Entity('identity_joins')
@Index('identity_joins_token', ['tokenHash'], { unique: true })
@Index('identity_joins_subject', ['providerId', 'subject'], { unique: true })
@Index('identity_joins_club_provider', ['clubProviderId', 'createdAt'])
@Index('identity_joins_expiry', ['expiresAt'])
@Check('identity_joins_provider', 'club_provider_id = provider_id')
export class IdentityJoin {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'identity_joins_pkey' })
  id: string;

  /** SHA-256 of the token. The token itself is not stored. */
  @Column({ type: 'bytea' })
  tokenHash: Buffer;

  @Column({ type: 'uuid' })
  providerId: string;

  @Column({ type: 'uuid', nullable: true })
  clubProviderId: string | null;

  @Column({ type: 'text' })
  subject: string;

  /** The address that the provider named. Null if it named none. */
  @Column({ type: 'text', nullable: true })
  email: string | null;

  /** Whether the provider says that it has verified the address. */
  @Column({ type: 'boolean' })
  isEmailVerified: boolean;

  /** The name that the provider gave, for a new account. Null if it gave no usable name. */
  @Column({ type: 'text', nullable: true })
  name: string | null;

  /** The number of wrong codes that are still allowed. */
  @Column({ type: 'smallint' })
  triesLeft: number;

  /** The number of codes that may still be mailed. */
  @Column({ type: 'smallint' })
  codesLeft: number;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  expiresAt: Date;

  @ManyToOne(() => IdentityProvider, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_provider_id', foreignKeyConstraintName: 'identity_joins_club_provider_id_fkey' })
  clubProvider: Relation<IdentityProvider> | null;
}
