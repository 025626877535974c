/** The membership of an administrator in a club, with the role. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Administrator } from '../identity/administrator.ts';
import { Club } from './club.ts';
import { roles, type Role } from './values.ts';
import { oneOf } from '../one-of.ts';

@Entity('memberships')
@Check('memberships_role', oneOf('role', roles))
export class Membership {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('memberships_administrator')
  administratorId: string;

  @Column({ type: 'text' })
  role: Role;

  @Column({ type: 'timestamptz' })
  joinedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  administrator: Relation<Administrator>;
}
