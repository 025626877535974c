/**
 * An accepted question. The client chooses the id of the question, and each id can be used once. The row stays after its text is deleted,
 * because the question still counts for the limits.
 */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AgentConversation } from './agent-conversation.ts';

@Entity('agent_questions')
@Index('agent_questions_counted', ['agentId', 'studentId', 'askedAt'])
@Index('agent_questions_conversation', ['conversationId', 'askedAt', 'id'])
export class AgentQuestion {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'agent_questions_id' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  agentId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  @Column({ type: 'uuid' })
  conversationId: string;

  /** The text of the question. Empty after the conversation was deleted or the student was removed. */
  @Column({ type: 'text' })
  content: string;

  @Column({ type: 'timestamptz' })
  askedAt: Date;

  @ManyToOne(() => AgentConversation, { onDelete: 'CASCADE' })
  conversation: Relation<AgentConversation>;
}
