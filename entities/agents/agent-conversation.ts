/**
 * A student's conversation with an agent. The row of a deleted conversation stays without its text, because its questions still count for
 * the limits.
 */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { Agent } from './agent.ts';

@Entity('agent_conversations')
@Index('agent_conversations_student', ['studentId', 'agentId', 'lastMessageAt', 'id'], { where: 'deleted_at IS NULL' })
@Index('agent_conversations_agent', ['agentId', 'lastMessageAt', 'id'], { where: 'deleted_at IS NULL' })
@Index('agent_conversations_all_of_agent', ['agentId'])
@Index('agent_conversations_all_of_student', ['studentId'])
export class AgentConversation {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  agentId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  /** The title: the first line of the first question, until the student renames the conversation. */
  @Column({ type: 'text' })
  title: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  lastMessageAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  deletedAt: Date | null;

  @ManyToOne(() => Agent, { onDelete: 'CASCADE' })
  agent: Relation<Agent>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
