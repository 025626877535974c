/**
 * The amount of a club's AI budget that one answer uses. The amount is reserved when the question is asked. When the answer ends, the
 * actual cost replaces it, once. Amounts
 * are millionths of a US dollar.
 */
import { Check, Column, Entity, Index, OneToOne, JoinColumn, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AgentAnswer } from './agent-answer.ts';

@Entity('agent_charges')
@Check('agent_charges_settled', '(settled_at IS NULL) = (cost_micros IS NULL)')
@Check('agent_charges_amounts', 'reserved_micros >= 0 AND cost_micros >= 0')
@Index('agent_charges_open', ['answerId'], { where: 'settled_at IS NULL' })
@Index('agent_charges_month', ['clubId', 'month', 'agentId'])
export class AgentCharge {
  @PrimaryColumn({ type: 'uuid' })
  answerId: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  agentId: string;

  /** The first day of the month of the question, in the club's time zone. */
  @Column({ type: 'date' })
  month: string;

  /** The reserved amount: the highest likely cost of the answer. */
  @Column({ type: 'bigint' })
  reservedMicros: string;

  @Column({ type: 'bigint', nullable: true })
  costMicros: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  settledAt: Date | null;

  @OneToOne(() => AgentAnswer, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'answer_id' })
  answer: Relation<AgentAnswer>;
}
