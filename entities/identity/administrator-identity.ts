/** A person at an identity provider who may sign in as an administrator. The administrator's own proof joined the two (OIDC-6). */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Administrator } from './administrator.ts';
import { IdentityProvider } from './identity-provider.ts';

@Entity('administrator_identities')
@Index('administrator_identities_subject', ['providerId', 'subject'], { unique: true })
@Index('administrator_identities_administrator', ['administratorId', 'id'])
@Index('administrator_identities_club_provider', ['clubProviderId'])
@Check('administrator_identities_provider', 'club_provider_id = provider_id')
export class AdministratorIdentity {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'administrator_identities_pkey' })
  id: string;

  @Column({ type: 'uuid' })
  administratorId: string;

  /** The provider of a club, or of the deployment. */
  @Column({ type: 'uuid' })
  providerId: string;

  /** The same id if the provider belongs to a club; null for a provider of the deployment, which has no row. */
  @Column({ type: 'uuid', nullable: true })
  clubProviderId: string | null;

  /** The provider's id of the person (`sub`). */
  @Column({ type: 'text' })
  subject: string;

  /** The address that the provider named at the last sign-in. Null if it named none. */
  @Column({ type: 'text', nullable: true })
  email: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  lastUsedAt: Date;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  @JoinColumn({
    name: 'administrator_id',
    foreignKeyConstraintName: 'administrator_identities_administrator_id_fkey',
  })
  administrator: Relation<Administrator>;

  @ManyToOne(() => IdentityProvider, { onDelete: 'CASCADE' })
  @JoinColumn({
    name: 'club_provider_id',
    foreignKeyConstraintName: 'administrator_identities_club_provider_id_fkey',
  })
  clubProvider: Relation<IdentityProvider> | null;
}
