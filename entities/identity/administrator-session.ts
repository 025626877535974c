/** The store of administrator sessions: a token is good while its row stands here, so ending one is deleting it. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Administrator } from './administrator.ts';

@Entity('administrator_sessions')
export class AdministratorSession {
  /** SHA-256 of the token: the token itself is nowhere at rest. */
  @PrimaryColumn({ type: 'bytea' })
  tokenHash: Buffer;

  @Column({ type: 'uuid' })
  @Index('administrator_sessions_administrator')
  administratorId: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  /** Slides forward while the session is used. */
  @Column({ type: 'timestamptz' })
  @Index('administrator_sessions_expiry')
  expiresAt: Date;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  administrator: Relation<Administrator>;
}
