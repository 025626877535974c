/** An entry in the log of an answer's text. Each entry begins where the previous entry ends, so gaps and repetitions are impossible. */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AgentAnswer } from './agent-answer.ts';

@Entity('agent_answer_deltas')
@Check('agent_answer_deltas_text', `text <> ''`)
export class AgentAnswerDelta {
  @PrimaryColumn({ type: 'uuid' })
  answerId: string;

  /** The length of the answer before this entry, in characters (code points). */
  @PrimaryColumn({ type: 'integer' })
  startsAt: number;

  @Column({ type: 'text' })
  text: string;

  @ManyToOne(() => AgentAnswer, { onDelete: 'CASCADE' })
  answer: Relation<AgentAnswer>;
}
