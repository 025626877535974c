/**
 * A fact in the outbox. The transaction that makes a change also writes the fact that reports this change. The fact is deleted after its
 * workflows were started.
 */
import { Column, Entity, Generated, Index, PrimaryColumn } from 'typeorm';
import type { FactDetails, Priority } from './values.ts';
import type { EventType } from '../../platform/core/event-types.ts';

@Entity('facts')
@Index('facts_turn', ['priority', 'clubId', 'dueAt', 'seq'])
@Index('facts_failing', ['recordedAt'], { where: `attempt_count > 0` })
export class Fact {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  /** The id of the fact, which becomes the id of the event and the `webhook-id` of every delivery. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  @Column({ type: 'text' })
  type: EventType;

  @Column({ type: 'uuid' })
  studentId: string;

  /**
   * The record that the fact is about, in addition to the student: an enrollment, a purchase, a lesson …. Null if the fact is only about
   * the student.
   */
  @Column({ type: 'uuid', nullable: true })
  subjectId: string | null;

  /**
   * Values that the fact needs, but that the record loses when it changes, such as its previous end. These values never contain personal
   * data.
   */
  @Column({ type: 'jsonb', nullable: true })
  details: FactDetails | null;

  /** The span in which the fact was written (W3C); null if the request is not traced. */
  @Column({ type: 'text', nullable: true })
  traceparent: string | null;

  /** The time at which the change happened. For a sale, it is the time by the clock of the sales platform (EVT-22). */
  @Column({ type: 'timestamptz' })
  occurredAt: Date;

  /** The time at which the fact was written, by the database's clock. */
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' })
  recordedAt: Date;

  /** Its priority. */
  @Column({ type: 'smallint', default: 1 })
  priority: Priority;

  /** The time from which a relay may claim the fact, by the database's clock: immediately, or later after a failure. */
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' })
  dueAt: Date;

  @Column({ type: 'smallint', default: 0 })
  attemptCount: number;

  /** The time at which the relay's claim ends, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;
}
