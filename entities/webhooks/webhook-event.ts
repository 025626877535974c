/** A fact that was fanned out: what its deliveries to the club's endpoints have in common. Partitioned by week of its id. */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeliveredEventType } from '../../platform/core/event-types.ts';

/** Without foreign keys, as its deliveries, their attempts and its body: checking them costs more than writing the rows (ADR 38). */
@Entity('webhook_events')
@Index('webhook_events_created', { synchronize: false }) // a BRIN index of created_at: whether a week has a young event
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

  /** When it was fanned out first: its deliveries and its body have the same time. */
  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
