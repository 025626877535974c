/** One event on its way to one endpoint (specification: Webhook delivery). */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import type { DeliveredEventType } from '../../domain/facts/catalogue.policy.ts';
import { WebhookEndpoint } from './webhook-endpoint.ts';
import { WebhookEvent } from './webhook-event.ts';

export type DeliveryStatus = 'pending' | 'succeeded' | 'failed' | 'canceled';

@Entity('webhook_deliveries')
@Index('webhook_deliveries_once', ['eventId', 'endpointId'], { unique: true })
@Index('webhook_deliveries_history', ['endpointId', 'createdAt', 'id'])
@Index('webhook_deliveries_pending', ['endpointId', 'nextAttemptAt'], { where: `status = 'pending'` })
@Index('webhook_deliveries_overdue', ['nextAttemptAt'], { where: `status = 'pending'` })
@Check('webhook_deliveries_status', `status in ('pending', 'succeeded', 'failed', 'canceled')`)
@Check('webhook_deliveries_cancel_reason', `cancel_reason in ('expired', 'student_removed')`)
@Check('webhook_deliveries_attempts', 'attempt_count between 0 and 8')
export class WebhookDelivery {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  endpointId: string;

  @Column({ type: 'uuid' })
  eventId: string;

  @Column({ type: 'text' })
  eventType: DeliveredEventType;

  @Column({ type: 'uuid', nullable: true })
  @Index('webhook_deliveries_student')
  studentId: string | null;

  @Column({ type: 'text', default: 'pending' })
  status: DeliveryStatus;

  @Column({ type: 'text', nullable: true })
  cancelReason: 'expired' | 'student_removed' | null;

  @Column({ type: 'timestamptz', nullable: true })
  payloadPurgedAt: Date | null;

  /** Scheduled attempts that were made and counted. */
  @Column({ type: 'smallint', default: 0 })
  attemptCount: number;

  @Column({ type: 'timestamptz' })
  nextAttemptAt: Date;

  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** Until when the attempt in flight may take, by the database's clock; null when none is. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  @ManyToOne(() => WebhookEndpoint, { onDelete: 'CASCADE' })
  endpoint: Relation<WebhookEndpoint>;

  @ManyToOne(() => WebhookEvent, { onDelete: 'CASCADE' })
  event: Relation<WebhookEvent>;
}
