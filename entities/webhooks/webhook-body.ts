/**
 * The exact JSON of an event, as it is signed and sent, with its position in the club's log of events (EVT-23). It is deleted after its
 * retention time, or with its student. The table is partitioned by day.
 */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { EventType } from '../../platform/core/event-types.ts';

@Entity('webhook_bodies')
@Index('webhook_bodies_log', ['clubId', 'position'], { where: 'position IS NOT NULL' })
export class WebhookBody {
  @PrimaryColumn({ type: 'uuid' })
  eventId: string;

  /** The `createdAt` of the event. */
  @PrimaryColumn({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'text' })
  body: string;

  /** The club, student and type of an event in the log. Null for test messages, and for events that older releases fanned out. */
  @Column({ type: 'uuid', nullable: true })
  clubId: string | null;

  @Column({ type: 'uuid', nullable: true })
  studentId: string | null;

  @Column({ type: 'text', nullable: true })
  type: EventType | null;

  /**
   * The event's position in the club's log. All clubs share one sequence, so the positions of a club have gaps. The position is taken under
   * the lock of the club's log.
   */
  @Column({ type: 'bigint', nullable: true })
  position: string | null;
}
