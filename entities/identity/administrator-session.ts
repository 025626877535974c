/** The store of administrator sessions. A token is valid while its row exists, so deleting the row ends the session. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Administrator } from './administrator.ts';

@Entity('administrator_sessions')
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

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  administrator: Relation<Administrator>;
}
