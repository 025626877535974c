/** An event of a club, from a fact that was fanned out: the common data of its deliveries. Partitioned by the week of its id. */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeliveredEventType } from '../../platform/core/event-types.ts';

/** No foreign keys, like its deliveries, their attempts and its body. Checks of foreign keys cost more than the insertion of the rows (ADR 38). */
@Entity('webhook_events')
@Index('webhook_events_created', { synchronize: false }) // a BRIN index of created_at, to find out whether a week has a recent event
export class WebhookEvent {
  /** The fact's id: the `webhook-id` of every attempt. */
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

  /** When it was first fanned out. Its deliveries and its body have the same time. */
  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
