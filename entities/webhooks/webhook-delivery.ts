/** The delivery of an event to an endpoint (WEP-10). The table is partitioned by the week of the id. */
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeliveredEventType } from '../../platform/core/event-types.ts';
import {
  requestTriggers,
  cancelReasons,
  deliveryStatuses,
  type CancelReason,
  type DeliveryStatus,
  type RequestTrigger,
} from './values.ts';
import { oneOf } from '../one-of.ts';

@Entity('webhook_deliveries')
@Index('webhook_deliveries_history', ['endpointId', 'createdAt', 'id'])
@Index('webhook_deliveries_types', ['endpointId', 'eventType', 'status', 'createdAt', 'id'])
@Index('webhook_deliveries_statuses', ['endpointId', 'status', 'createdAt', 'id'])
@Index('webhook_deliveries_pending', ['endpointId', 'parkedAt', 'nextAttemptAt'], { where: `status = 'pending'` })
@Index('webhook_deliveries_parked', ['endpointId', 'nextAttemptAt', 'id'], {
  where: `parked_at IS NOT NULL AND requested IS DISTINCT FROM 'recovery'`,
})
@Index('webhook_deliveries_recovering', ['endpointId', 'nextAttemptAt', 'id'], {
  where: `parked_at IS NOT NULL AND requested = 'recovery'`,
})
@Index('webhook_deliveries_asked', ['endpointId'], {
  where: `status <> 'pending' AND (requested IS NOT NULL OR in_flight IS NOT NULL)`,
})
@Index('webhook_deliveries_overdue', ['nextAttemptAt'], {
  where: `parked_at IS NULL AND (status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL)`,
})
@Index('webhook_deliveries_direct', ['id'], { where: 'direct' })
@Check('webhook_deliveries_status', oneOf('status', deliveryStatuses))
@Check('webhook_deliveries_cancel_reason', oneOf('cancel_reason', cancelReasons))
@Check('webhook_deliveries_schedule', 'schedule_position between 0 and 8')
@Check('webhook_deliveries_requested', oneOf('requested', requestTriggers))
@Check('webhook_deliveries_in_flight', oneOf('in_flight', requestTriggers))
export class WebhookDelivery {
  /**
   * The id is derived from the ids of the event and the endpoint (domain/webhooks/deliveries/delivery-id.ts). So each event has at most one
   * delivery to each endpoint (HOOK-1).
   */
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
  cancelReason: CancelReason | null;

  /**
   * The time at which the body was deleted because its student was removed. Null if the body was deleted because its retention time ended.
   */
  @Column({ type: 'timestamptz', nullable: true })
  payloadPurgedAt: Date | null;

  /** The number of counted attempts, whatever their cause. */
  @Column({ type: 'smallint', default: 0 })
  attemptCount: number;

  /** The number of counted attempts of the schedule, at most 8. */
  @Column({ type: 'smallint', default: 0 })
  schedulePosition: number;

  @Column({ type: 'timestamptz' })
  nextAttemptAt: Date;

  /**
   * A requested attempt, in addition to the schedule, that is not claimed yet. Such an attempt does not wait for the circuit breaker.
   */
  @Column({ type: 'text', nullable: true })
  requested: RequestTrigger | null;

  /** The requested attempt that is claimed and has no recorded outcome yet. After an interruption, the next claim repeats this attempt. */
  @Column({ type: 'text', nullable: true })
  inFlight: RequestTrigger | null;

  /** The time at which the due delivery began to wait. It waits until the gate of its endpoint releases it. */
  @Column({ type: 'timestamptz', nullable: true })
  parkedAt: Date | null;

  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The number of times that the next attempt was interrupted. An interrupted attempt is made again with the same number. */
  @Column({ type: 'smallint', default: 0 })
  interruptions: number;

  /** The end of the current attempt's lease, by the database's clock. Null without a current attempt. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  /**
   * Whether the first attempt is made without a run (ADR 36). False after the outcome of this attempt was recorded, or after a run has
   * begun.
   */
  @Column({ type: 'boolean', default: false })
  direct: boolean;

  /** The `createdAt` of the event. */
  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;
}
