/** The store of administrator sessions. A token is valid while its row exists, so deleting the row ends the session. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Administrator } from './administrator.ts';
import { sessionOpeners, type SessionOpener } from './values.ts';

@Entity('administrator_sessions')
@Index('administrator_sessions_provider', ['providerId', 'administratorId'], { where: 'provider_id IS NOT NULL' })
@Check('administrator_sessions_opened_by', oneOf('opened_by', sessionOpeners))
export class AdministratorSession {
  /** SHA-256 of the token. The token itself is not stored. */
  @PrimaryColumn({ type: 'bytea' })
  tokenHash: Buffer;

  @Column({ type: 'uuid' })
  @Index('administrator_sessions_administrator')
  administratorId: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  /** The time at which the session expires. Each use of the session moves this time forward. */
  @Column({ type: 'timestamptz' })
  @Index('administrator_sessions_expiry')
  expiresAt: Date;

  @Column({ type: 'text', default: 'password' })
  openedBy: SessionOpener;

  /** A short label of the device, such as `Firefox (Windows)`. Null if the client is unknown. */
  @Column({ type: 'text', nullable: true })
  device: string | null;

  /** The network of the client at the sign-in: the /24 of an IPv4 address, the /48 of an IPv6 address. Null if it is unknown. */
  @Column({ type: 'text', nullable: true })
  network: string | null;

  /** The time of the last use, exact to some minutes. Null before the first recorded use. */
  @Column({ type: 'timestamptz', nullable: true })
  lastUsedAt: Date | null;

  /** The identity provider that opened the session. Null if the session was opened in another way. */
  @Column({ type: 'uuid', nullable: true })
  providerId: string | null;

  /** The club of this provider: the session acts only there (OIDC-7). Null unless the provider belongs to a club. */
  @Column({ type: 'uuid', nullable: true })
  clubId: string | null;

  /** The last time at which the person proved who they are, after the sign-in. Null if the sign-in is the only proof. */
  @Column({ type: 'timestamptz', nullable: true })
  provedAt: Date | null;

  /** The last time at which the person showed a second factor. Null if the session has only one factor. */
  @Column({ type: 'timestamptz', nullable: true })
  secondFactorAt: Date | null;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  administrator: Relation<Administrator>;
}
