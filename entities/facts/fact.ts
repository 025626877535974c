/** The outbox of the webhook catalogue: a fact is written with the change that it tells of and removed once its workflows are started. */
import { Column, Entity, Generated, Index, PrimaryColumn } from 'typeorm';
import type { EventType } from '../../domain/facts/catalogue.policy.ts';

@Entity('facts')
@Index('facts_club', ['clubId', 'seq'])
export class Fact {
  /** Becomes the event's id: the `webhook-id` of every delivery. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  type: EventType;

  /** Whom the fact is about. */
  @Column({ type: 'uuid' })
  studentId: string;

  @Column({ type: 'timestamptz' })
  occurredAt: Date;

  /** Until when a relay works on it, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;
}
