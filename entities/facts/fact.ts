/** The outbox of the webhook catalogue: a fact is written with the change that it tells of and removed once its workflows are started. */
import { Column, Entity, Generated, Index, PrimaryColumn } from 'typeorm';
import type { FactDetails, Priority } from './values.ts';
import type { EventType } from '../../platform/core/event-types.ts';

@Entity('facts')
@Index('facts_turn', ['priority', 'clubId', 'dueAt', 'seq'])
@Index('facts_failing', ['recordedAt'], { where: `attempt_count > 0` })
export class Fact {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  /** Becomes the event's id: the `webhook-id` of every delivery. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  @Column({ type: 'text' })
  type: EventType;

  /** Whom the fact is about. */
  @Column({ type: 'uuid' })
  studentId: string;

  /** The record that it is about, besides the student: an enrollment, a purchase, a lesson …; null for the student alone. */
  @Column({ type: 'uuid', nullable: true })
  subjectId: string | null;

  /** What the record does not say any more once it has changed, such as the end before: never a person's data. */
  @Column({ type: 'jsonb', nullable: true })
  details: FactDetails | null;

  /** The span in which it was written (W3C); null where nothing is traced. */
  @Column({ type: 'text', nullable: true })
  traceparent: string | null;

  /** When it happened: of a sale, by the platform's clock (EVT-22). */
  @Column({ type: 'timestamptz' })
  occurredAt: Date;

  /** When it was written, by the database's clock. */
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' })
  recordedAt: Date;

  /** How urgent it is. */
  @Column({ type: 'smallint', default: 1 })
  priority: Priority;

  /** From when a relay may take it, by the database's clock: at once, and later after a failure. */
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' })
  dueAt: Date;

  /** How often it could not be carried on. */
  @Column({ type: 'smallint', default: 0 })
  attemptCount: number;

  /** Until when a relay works on it, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;
}
