/** The log of an answer's text. Each entry begins at the end of the previous entry, so gaps and repeats are impossible. */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AgentAnswer } from './agent-answer.ts';

@Entity('agent_answer_deltas')
@Check('agent_answer_deltas_text', `text <> ''`)
export class AgentAnswerDelta {
  @PrimaryColumn({ type: 'uuid' })
  answerId: string;

  /** The number of characters (code points) of the answer before this entry. */
  @PrimaryColumn({ type: 'integer' })
  startsAt: number;

  @Column({ type: 'text' })
  text: string;

  @ManyToOne(() => AgentAnswer, { onDelete: 'CASCADE' })
  answer: Relation<AgentAnswer>;
}
