/**
 * The amount by which one statement changed the tallies of an endpoint. Triggers only add rows to this table, so that writers never wait
 * for one another.
 */
import { Column, Entity, Generated, PrimaryColumn } from 'typeorm';
import type { DeliveredEventType } from '../../platform/core/event-types.ts';

@Entity('webhook_tally_changes')
export class WebhookTallyChange {
  @PrimaryColumn({ type: 'uuid' })
  endpointId: string;

  @PrimaryColumn({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  /** The hour (UTC) in which the deliveries were created. */
  @Column({ type: 'timestamptz' })
  hour: Date;

  @Column({ type: 'text' })
  eventType: DeliveredEventType;

  @Column({ type: 'integer' })
  pending: number;

  @Column({ type: 'integer' })
  succeeded: number;

  @Column({ type: 'integer' })
  failed: number;

  @Column({ type: 'integer' })
  canceled: number;
}
