/** The sign-in rules of a club: its members must satisfy them (FAC-1). A club without a row has no rules. */
import { Column, Entity, Index, JoinColumn, ManyToOne, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { IdentityProvider } from '../identity/identity-provider.ts';
import { Club } from './club.ts';

@Entity('club_sign_in_rules')
@Index('club_sign_in_rules_provider', ['requiredProviderId'], { where: 'required_provider_id IS NOT NULL' })
export class SignInRules {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'club_sign_in_rules_pkey' })
  clubId: string;

  @Column({ type: 'boolean' })
  requiresSecondFactor: boolean;

  /** The identity provider of the club, if its members must sign in there. */
  @Column({ type: 'uuid', nullable: true })
  requiredProviderId: string | null;

  @OneToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'club_sign_in_rules_club_id_fkey' })
  club: Relation<Club>;

  /** If the club removes its provider, it no longer requires it. */
  @ManyToOne(() => IdentityProvider, { onDelete: 'SET NULL' })
  @JoinColumn({
    name: 'required_provider_id',
    foreignKeyConstraintName: 'club_sign_in_rules_required_provider_id_fkey',
  })
  requiredProvider: Relation<IdentityProvider> | null;
}
