/** An AI assistant of a club that answers students from the club's material. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { agentStatuses, type AgentStatus } from './values.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('agents')
@Check('agents_status', oneOf('status', agentStatuses))
@Check('agents_daily_limit', 'daily_limit >= 0')
@Check('agents_answer_max_tokens', 'answer_max_tokens > 0')
@Index('agents_club_public_id', ['clubId', 'publicId'], { unique: true })
@Index('agents_club_created', ['clubId', 'createdAt', 'id'])
export class Agent {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The name of the agent in addresses of the classroom. It is unique in the club and has 1 to 32 characters. */
  @Column({ type: 'text' })
  publicId: string;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text', default: '' })
  description: string;

  /** The club's instructions to the model; students never see them. */
  @Column({ type: 'text', default: '' })
  instructions: string;

  /** Null if the agent uses the default model of the installation. */
  @Column({ type: 'text', nullable: true })
  model: string | null;

  @Column({ type: 'text', default: 'draft' })
  status: AgentStatus;

  /** The maximum number of questions that a student may ask in 24 hours. */
  @Column({ type: 'integer' })
  dailyLimit: number;

  /** The maximum size of an answer, in tokens of the model. */
  @Column({ type: 'integer' })
  answerMaxTokens: number;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
