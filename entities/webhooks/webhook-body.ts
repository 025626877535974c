/** The exact JSON that is signed and sent of an event, until its time is over or its student removed. Partitioned by day. */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('webhook_bodies')
export class WebhookBody {
  @PrimaryColumn({ type: 'uuid' })
  eventId: string;

  /** The event's. */
  @PrimaryColumn({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'text' })
  body: string;
}
