/** An invitation to administer a club, open until it is accepted, is revoked or expires. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from './club.ts';
import { roles, type Role } from './values.ts';
import { oneOf } from '../one-of.ts';

@Entity('invitations')
@Check('invitations_role', oneOf('role', roles))
@Index('invitations_club_email', ['clubId', 'email'], { unique: true })
export class Invitation {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The e-mail address, case-folded. The row is deleted when the invitation is accepted or revoked. */
  @Column({ type: 'text' })
  email: string;

  @Column({ type: 'text' })
  role: Role;

  /**
   * The administrator who sent the invitation. Null if an older release, which did not store this administrator, created the invitation.
   */
  @Column({ type: 'uuid', nullable: true })
  invitedBy: string | null;

  @Column({ type: 'timestamptz' })
  invitedAt: Date;

  @Column({ type: 'timestamptz' })
  expiresAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
