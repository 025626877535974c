/** One try of a delivery: written when it is claimed, completed when its outcome is known. Partitioned by day of its start. */
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { attemptTriggers, type AttemptOutcome, type AttemptTrigger, type FailureCause } from './values.ts';
import { oneOf } from '../one-of.ts';

@Entity('webhook_attempts')
@Check('webhook_attempts_trigger', oneOf('trigger', attemptTriggers))
export class WebhookAttempt {
  @PrimaryColumn({ type: 'uuid' })
  deliveryId: string;

  /** The fence of the claim: only its holder records the outcome. */
  @PrimaryColumn({ type: 'integer' })
  fence: number;

  /** From 1; used again when an attempt was interrupted. */
  @Column({ type: 'smallint' })
  number: number;

  @Column({ type: 'text' })
  trigger: AttemptTrigger;

  @PrimaryColumn({ type: 'timestamptz' })
  startedAt: Date;

  /** Null while the attempt is in flight. */
  @Column({ type: 'text', nullable: true })
  outcome: AttemptOutcome | null;

  @Column({ type: 'integer', nullable: true })
  durationMs: number | null;

  @Column({ type: 'smallint', nullable: true })
  responseStatus: number | null;

  /** Why no answer arrived; null if one arrived. */
  @Column({ type: 'text', nullable: true })
  errorCode: FailureCause | null;

  /** Up to the first 2 KB of the response. */
  @Column({ type: 'text', nullable: true })
  responseExcerpt: string | null;

  @Column({ type: 'integer', nullable: true })
  retryAfterSeconds: number | null;
}
