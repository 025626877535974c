/**
 * The exact JSON of an event, as it is signed and sent. It is deleted after its retention time, or with its student. The table is
 * partitioned by day.
 */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('webhook_bodies')
export class WebhookBody {
  @PrimaryColumn({ type: 'uuid' })
  eventId: string;

  /** The `createdAt` of the event. */
  @PrimaryColumn({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'text' })
  body: string;
}
