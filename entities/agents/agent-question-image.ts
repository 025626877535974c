/** A picture that a student attached to a question. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Media } from '../media/media.ts';
import { AgentQuestion } from './agent-question.ts';

@Entity('agent_question_images')
@Check('agent_question_images_at_most_two', 'position in (0, 1)')
export class AgentQuestionImage {
  @PrimaryColumn({ type: 'uuid' })
  questionId: string;

  @PrimaryColumn({ type: 'smallint' })
  position: number;

  @Column({ type: 'uuid' })
  @Index('agent_question_images_media')
  mediaId: string;

  @ManyToOne(() => AgentQuestion, { onDelete: 'CASCADE' })
  question: Relation<AgentQuestion>;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  media: Relation<Media>;
}
