/**
 * An attempt to send a delivery. The claim of the attempt inserts the row, and the record of the outcome completes the row. The table is
 * partitioned by the day on which
 * attempts start.
 */
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { attemptTriggers, type AttemptOutcome, type AttemptTrigger, type FailureCause } from './values.ts';
import { oneOf } from '../one-of.ts';

@Entity('webhook_attempts')
@Check('webhook_attempts_trigger', oneOf('trigger', attemptTriggers))
export class WebhookAttempt {
  @PrimaryColumn({ type: 'uuid' })
  deliveryId: string;

  /** The fencing token of the claim. Only the holder of the highest token records the outcome. */
  @PrimaryColumn({ type: 'integer' })
  fence: number;

  /** The number of the attempt, from 1. The attempt after an interrupted attempt has the same number. */
  @Column({ type: 'smallint' })
  number: number;

  @Column({ type: 'text' })
  trigger: AttemptTrigger;

  @PrimaryColumn({ type: 'timestamptz' })
  startedAt: Date;

  /** The outcome of the attempt. Null until the outcome is recorded. */
  @Column({ type: 'text', nullable: true })
  outcome: AttemptOutcome | null;

  @Column({ type: 'integer', nullable: true })
  durationMs: number | null;

  @Column({ type: 'smallint', nullable: true })
  responseStatus: number | null;

  /** The reason why no response arrived. Null if a response arrived. */
  @Column({ type: 'text', nullable: true })
  errorCode: FailureCause | null;

  /** The start of the response, at most 2 KB. */
  @Column({ type: 'text', nullable: true })
  responseExcerpt: string | null;

  @Column({ type: 'integer', nullable: true })
  retryAfterSeconds: number | null;
}
