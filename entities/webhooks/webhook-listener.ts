/**
 * A program that listens to the events of a club (LSN-1). The row counts for the limit of the club while its heartbeat is fresh. It is
 * deleted when the stream ends.
 */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Administrator } from '../identity/administrator.ts';
import { ApiKey } from '../identity/api-key.ts';

@Entity('webhook_listeners')
@Index('webhook_listeners_club', ['clubId', 'heartbeatAt'])
@Index('webhook_listeners_key', ['keyId'])
@Index('webhook_listeners_administrator', ['administratorId'])
@Index('webhook_listeners_heartbeat', ['heartbeatAt'])
@Check('webhook_listeners_caller', '(key_id IS NULL) <> (administrator_id IS NULL)')
export class WebhookListener {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'webhook_listeners_pkey' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The API key of the caller. Null if an administrator listens in person. */
  @Column({ type: 'uuid', nullable: true })
  keyId: string | null;

  @Column({ type: 'uuid', nullable: true })
  administratorId: string | null;

  /** The stream that the listener has now. A stream that resumes replaces it, and the earlier stream ends. */
  @Column({ type: 'uuid' })
  streamId: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  heartbeatAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ foreignKeyConstraintName: 'webhook_listeners_club_id_fkey' })
  club: Relation<Club>;

  @ManyToOne(() => ApiKey, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'key_id', foreignKeyConstraintName: 'webhook_listeners_key_id_fkey' })
  key: Relation<ApiKey>;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'administrator_id', foreignKeyConstraintName: 'webhook_listeners_administrator_id_fkey' })
  administrator: Relation<Administrator>;
}
