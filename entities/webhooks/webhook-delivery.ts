/** One event on its way to one endpoint (WEP-10). Partitioned by week of its id. */
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
  /** Made of the event's and the endpoint's (domain/webhooks/deliveries/delivery-id.ts), so that there is one at most (HOOK-1). */
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

  /** When its student was removed, and the body with them. A body whose time is over leaves nothing here. */
  @Column({ type: 'timestamptz', nullable: true })
  payloadPurgedAt: Date | null;

  /** Attempts that were made and counted, whatever caused them. */
  @Column({ type: 'smallint', default: 0 })
  attemptCount: number;

  /** Of these, the ones on the schedule of 8: never a ninth. */
  @Column({ type: 'smallint', default: 0 })
  schedulePosition: number;

  @Column({ type: 'timestamptz' })
  nextAttemptAt: Date;

  /** An attempt that was asked for beside the schedule and is not yet claimed: it waits for no breaker. */
  @Column({ type: 'text', nullable: true })
  requested: RequestTrigger | null;

  /** The same, claimed and not recorded; after an interruption the next claim repeats it. */
  @Column({ type: 'text', nullable: true })
  inFlight: RequestTrigger | null;

  /** Since when it waits, due, for its endpoint's gate to let it go. */
  @Column({ type: 'timestamptz', nullable: true })
  parkedAt: Date | null;

  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** How often the attempt of the next number was cut off. */
  @Column({ type: 'smallint', default: 0 })
  interruptions: number;

  /** Until when the attempt in flight may take, by the database's clock; null when none is. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  /** Its first attempt is made without a run (ADR 36); false once that is recorded, or a run has taken over. */
  @Column({ type: 'boolean', default: false })
  direct: boolean;

  /** The event's. */
  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;
}
