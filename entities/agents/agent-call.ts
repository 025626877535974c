/** A request to the model: its use of tokens and its cost. The row is committed before the request is made. */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { callOutcomes, type CallOutcome } from './values.ts';
import { AgentAnswer } from './agent-answer.ts';
import { oneOf } from '../one-of.ts';

@Entity('agent_calls')
@Check('agent_calls_outcome', oneOf('outcome', callOutcomes))
@Check('agent_calls_ended', '(outcome IS NULL) = (ended_at IS NULL)')
export class AgentCall {
  @PrimaryColumn({ type: 'uuid' })
  answerId: string;

  /** From 1. */
  @PrimaryColumn({ type: 'smallint' })
  callNo: number;

  @Column({ type: 'text' })
  model: string;

  @Column({ type: 'timestamptz' })
  startedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  @Column({ type: 'text', nullable: true })
  outcome: CallOutcome | null;

  @Column({ type: 'text', nullable: true })
  errorCode: string | null;

  /** The id that the model's service gave the request. It is needed for questions to the operators of that service. */
  @Column({ type: 'text', nullable: true })
  requestId: string | null;

  @Column({ type: 'integer', default: 0 })
  inputTokens: number;

  @Column({ type: 'integer', default: 0 })
  outputTokens: number;

  @Column({ type: 'integer', default: 0 })
  cacheWriteTokens: number;

  @Column({ type: 'integer', default: 0 })
  cacheReadTokens: number;

  /** Whether the numbers of tokens are estimates, because the model did not report its numbers. */
  @Column({ type: 'boolean', default: false })
  estimated: boolean;

  /** The cost in millionths of a US dollar. */
  @Column({ type: 'bigint', default: 0 })
  costMicros: string;

  @ManyToOne(() => AgentAnswer, { onDelete: 'CASCADE' })
  answer: Relation<AgentAnswer>;
}
