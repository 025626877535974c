/**
 * An answer to a question. The run `agent-answer/<question id>` produces it. `begun_at` is set once; until then the run may call the model
 * again, and afterwards it never does.
 */
import { Check, Column, Entity, Index, ManyToOne, OneToOne, JoinColumn, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { answerStatuses, type AnswerStatus } from './values.ts';
import { AgentConversation } from './agent-conversation.ts';
import { AgentQuestion } from './agent-question.ts';
import { oneOf } from '../one-of.ts';

@Entity('agent_answers')
@Check('agent_answers_status', oneOf('status', answerStatuses))
@Check('agent_answers_ended', `(completed_at IS NULL) = (status = 'generating')`)
@Check('agent_answers_error', `(error_code IS NOT NULL) = (status = 'failed')`)
@Check('agent_answers_calls', 'call_no BETWEEN 0 AND 3')
@Index('agent_answers_one_at_a_time', ['conversationId'], { unique: true, where: `status = 'generating'` })
@Index('agent_answers_looks_at', ['looksAt'], { where: `status = 'generating'` })
@Index('agent_answers_agent', ['agentId', 'createdAt'])
@Index('agent_answers_logs_to_fold', ['completedAt'], { where: 'log_folded_at IS NULL AND completed_at IS NOT NULL' })
export class AgentAnswer {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  @Index('agent_answers_question', { unique: true })
  questionId: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  agentId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  @Column({ type: 'uuid' })
  @Index('agent_answers_conversation')
  conversationId: string;

  @Column({ type: 'text', default: 'generating' })
  status: AnswerStatus;

  /** The whole text of an ended answer. While the answer is generated, its text is in the log of deltas. */
  @Column({ type: 'text', default: '' })
  content: string;

  @Column({ type: 'text', nullable: true })
  errorCode: string | null;

  @Column({ type: 'text' })
  model: string;

  /** The maximum size of the answer in tokens, from the agent's settings at the time of the question. */
  @Column({ type: 'integer' })
  maxTokens: number;

  /** The number of the last request to the model. Each request is committed before it is made. */
  @Column({ type: 'smallint', default: 0 })
  callNo: number;

  /** The time at which the model's stream began. */
  @Column({ type: 'timestamptz', nullable: true })
  begunAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  /** The time by which the answer's workflow must check the answer again. */
  @Column({ type: 'timestamptz' })
  looksAt: Date;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  /** The time at which the log of deltas was removed. The answer's content has all words of the log. */
  @Column({ type: 'timestamptz', nullable: true })
  logFoldedAt: Date | null;

  @OneToOne(() => AgentQuestion, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'question_id' })
  question: Relation<AgentQuestion>;

  @ManyToOne(() => AgentConversation, { onDelete: 'CASCADE' })
  conversation: Relation<AgentConversation>;
}
