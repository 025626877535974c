/** The identity provider of a club: its administrators can sign in there (OIDC-3). The providers of the deployment are settings, not rows. */
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('identity_providers')
@Index('identity_providers_club', ['clubId'], { unique: true })
/** A migration creates this index on the sealed values, so TypeORM must not create it. */
@Index('identity_providers_sealed_client_secret_key', { synchronize: false })
export class IdentityProvider {
  /** A provider with another issuer gets another id, because its identities are other people. */
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'identity_providers_pkey' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text' })
  issuer: string;

  @Column({ type: 'text' })
  clientId: string;

  /** Sealed, with the row's id as its context. */
  @Column({ type: 'bytea' })
  sealedClientSecret: Buffer;

  /** Only identities with a verified address in one of these domains may sign in. ASCII, lower case. */
  @Column({ type: 'text', array: true })
  emailDomains: string[];

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'identity_providers_club_id_fkey' })
  club: Relation<Club>;
}
