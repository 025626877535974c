/** A question, accepted. Its id is the client's choice and is used once; the row outlives its words, for it is counted. */
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

  /** Empty once the conversation is deleted or the student removed. */
  @Column({ type: 'text' })
  content: string;

  @Column({ type: 'timestamptz' })
  askedAt: Date;

  @ManyToOne(() => AgentConversation, { onDelete: 'CASCADE' })
  conversation: Relation<AgentConversation>;
}
