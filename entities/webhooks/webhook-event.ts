/**
 * An event of a club, from a fact that was fanned out: the common data of its deliveries. The table is partitioned by the week of the id.
 */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeliveredEventType } from '../../platform/core/event-types.ts';

/**
 * Events have no foreign keys, and neither have deliveries, attempts and bodies. Checks of foreign keys cost more than the insertion of the
 * rows (ADR 38).
 */
@Entity('webhook_events')
@Index('webhook_events_created', { synchronize: false }) // a BRIN index on created_at; it shows whether a week has a recent event
export class WebhookEvent {
  /** The id of the fact. It is also the `webhook-id` of every attempt. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  type: DeliveredEventType;

  @Column({ type: 'uuid', nullable: true })
  @Index('webhook_events_student')
  studentId: string | null;

  @Column({ type: 'timestamptz' })
  occurredAt: Date;

  /** The time at which the event was first fanned out. The deliveries and the body of the event have the same time. */
  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
