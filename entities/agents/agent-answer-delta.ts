/** The log of an answer's text as it came: each entry begins where the one before it ends, so a gap or a repeat cannot stand. */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AgentAnswer } from './agent-answer.ts';

@Entity('agent_answer_deltas')
@Check('agent_answer_deltas_text', `text <> ''`)
export class AgentAnswerDelta {
  @PrimaryColumn({ type: 'uuid' })
  answerId: string;

  /** How many characters (code points) of the answer come before it. */
  @PrimaryColumn({ type: 'integer' })
  startsAt: number;

  @Column({ type: 'text' })
  text: string;

  @ManyToOne(() => AgentAnswer, { onDelete: 'CASCADE' })
  answer: Relation<AgentAnswer>;
}
