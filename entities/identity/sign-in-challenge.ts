/** A sign-in of an administrator that waits for the second factor. The row lasts five minutes and can be used once (FAC-3). */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Administrator } from './administrator.ts';
import { sessionOpeners, type SessionOpener } from './values.ts';

@Entity('sign_in_challenges')
@Index('sign_in_challenges_administrator', ['administratorId', 'createdAt'])
@Check('sign_in_challenges_opened_by', oneOf('opened_by', sessionOpeners))
export class SignInChallenge {
  /** SHA-256 of the token. The token itself is not stored. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'sign_in_challenges_pkey' })
  tokenHash: Buffer;

  @Column({ type: 'uuid' })
  administratorId: string;

  /** The first factor, which the session will record. */
  @Column({ type: 'text' })
  openedBy: SessionOpener;

  /** The identity provider of the first factor. Null if the first factor is another one. */
  @Column({ type: 'uuid', nullable: true })
  providerId: string | null;

  /** The club of this provider: the session will act only there. Null unless the provider belongs to a club. */
  @Column({ type: 'uuid', nullable: true })
  clubId: string | null;

  /** The network that showed the first factor. Null if it is unknown. */
  @Column({ type: 'text', nullable: true })
  network: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  @Index('sign_in_challenges_expiry')
  expiresAt: Date;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'administrator_id', foreignKeyConstraintName: 'sign_in_challenges_administrator_id_fkey' })
  administrator: Relation<Administrator>;
}
