/** An agent's questions, tokens and cost in a month of its club's time zone. The row stays unchanged even if conversations are deleted. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Agent } from './agent.ts';

@Entity('agent_months')
@Check('agent_months_answers', 'complete + truncated + refused + failed <= questions')
@Index('agent_months_club', ['clubId', 'month', 'costMicros'])
export class AgentMonth {
  @PrimaryColumn({ type: 'uuid' })
  agentId: string;

  /** The first day of the month. An answer belongs to the month of its question. */
  @PrimaryColumn({ type: 'date' })
  month: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'integer', default: 0 })
  questions: number;

  @Column({ type: 'integer', default: 0 })
  complete: number;

  @Column({ type: 'integer', default: 0 })
  truncated: number;

  @Column({ type: 'integer', default: 0 })
  refused: number;

  @Column({ type: 'integer', default: 0 })
  failed: number;

  /** The number of tokens of the charged calls, as the model counts tokens. */
  @Column({ type: 'bigint', default: 0 })
  inputTokens: string;

  @Column({ type: 'bigint', default: 0 })
  outputTokens: string;

  @Column({ type: 'bigint', default: 0 })
  cacheWriteTokens: string;

  @Column({ type: 'bigint', default: 0 })
  cacheReadTokens: string;

  /** The cost in millionths of a US dollar. */
  @Column({ type: 'bigint', default: 0 })
  costMicros: string;

  @ManyToOne(() => Agent, { onDelete: 'CASCADE' })
  agent: Relation<Agent>;
}
