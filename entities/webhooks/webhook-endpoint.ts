/** A URL where a club receives signed messages, and how it has fared (specification: Webhook endpoint). */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import type { EventType } from '../../domain/facts/catalogue.policy.ts';
import { Club } from '../clubs/club.ts';

export type EndpointStatus = 'enabled' | 'paused' | 'disabled';

@Entity('webhook_endpoints')
@Index('webhook_endpoints_club', ['clubId', 'createdAt', 'id'])
@Check('webhook_endpoints_status', `status in ('enabled', 'paused', 'disabled')`)
@Check('webhook_endpoints_disabled_reason', `disabled_reason in ('manual', 'failing')`)
export class WebhookEndpoint {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  url: string;

  @Column({ type: 'text', nullable: true })
  description: string | null;

  @Column({ type: 'text', array: true })
  eventTypes: EventType[];

  @Column({ type: 'text', default: 'enabled' })
  status: EndpointStatus;

  @Column({ type: 'text', nullable: true })
  disabledReason: 'manual' | 'failing' | null;

  @Column({ type: 'timestamptz', nullable: true })
  disabledAt: Date | null;

  @Column({ type: 'integer', default: 0 })
  consecutiveFailures: number;

  @Column({ type: 'timestamptz', nullable: true })
  failingSince: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  holdUntil: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  lastSuccessAt: Date | null;

  /** AES-256-GCM under the master key. */
  @Column({ type: 'bytea' })
  secret: Buffer;

  @Column({ type: 'bytea', nullable: true })
  previousSecret: Buffer | null;

  @Column({ type: 'timestamptz', nullable: true })
  previousSecretExpiresAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
