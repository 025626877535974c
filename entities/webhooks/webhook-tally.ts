/** The number of deliveries to one endpoint, of one event type and with one status, that were created in a day or an hour (UTC). */
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { tallySpans, type TallySpan } from './values.ts';
import type { DeliveredEventType } from '../../platform/core/event-types.ts';
import { oneOf } from '../one-of.ts';

/**
 * The row has no foreign key to the endpoint. When an endpoint is removed, its deliveries must still be counted down to zero. A sum is
 * exact only together with the changes that are not added to it yet (WebhookTallyChange). One statement must read the sum and the changes.
 */
@Entity('webhook_tallies')
@Check('webhook_tallies_span', oneOf('span', tallySpans))
export class WebhookTally {
  @PrimaryColumn({ type: 'uuid' })
  endpointId: string;

  @PrimaryColumn({ type: 'text' })
  span: TallySpan;

  @PrimaryColumn({ type: 'timestamptz' })
  @Index('webhook_tallies_starts')
  startsAt: Date;

  @PrimaryColumn({ type: 'text' })
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
