/** A fact as it is sent: its body, assembled once and shared by all endpoints of the club. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import type { DeliveredEventType } from '../../platform/core/event-types.ts';
import { Club } from '../clubs/club.ts';

@Entity('webhook_events')
@Index('webhook_events_bodies', ['createdAt'], { where: 'body IS NOT NULL' })
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

  /** The exact JSON that is signed and sent; null once purged. */
  @Column({ type: 'text', nullable: true })
  body: string | null;

  @Column({ type: 'timestamptz' })
  @Index('webhook_events_created')
  createdAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
