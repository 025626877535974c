/** That a workflow must look again. One row a workflow; a later wake raises `seq`, so that the relay deletes only what it has sent. */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('wakes')
@Index('wakes_club', ['clubId', 'recordedAt'])
export class Wake {
  @PrimaryColumn({ type: 'text' })
  workflowId: string;

  @Column({ type: 'bigint', default: 1 })
  seq: string;

  @Column({ type: 'text' })
  workflowType: string;

  /** The row that the workflow is about: its only argument. */
  @Column({ type: 'uuid' })
  subjectId: string;

  /** Whose turn it counts against; the nil uuid for what belongs to no club. */
  @Column({ type: 'uuid' })
  clubId: string;

  /** What an operator finds the run by, should the wake have to start it: ids and event types alone. */
  @Column({ type: 'jsonb' })
  attributes: Readonly<Record<string, string>>;

  @Column({ type: 'timestamptz' })
  recordedAt: Date;

  /** Until when a relay works on it, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;
}
