/** A citation in an answer. If its source is removed from the index, the citation keeps its words and loses its link to the source. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import type { SourceKind } from '../knowledge/values.ts';
import { AgentAnswer } from './agent-answer.ts';
import { AgentSource } from '../knowledge/agent-source.ts';

@Entity('agent_citations')
export class AgentCitation {
  @PrimaryColumn({ type: 'uuid' })
  answerId: string;

  /** The position of the citation in the order of the text, from 0. */
  @PrimaryColumn({ type: 'smallint' })
  position: number;

  @Column({ type: 'text' })
  citedText: string;

  @Column({ type: 'uuid', nullable: true })
  @Index('agent_citations_source')
  sourceId: string | null;

  @Column({ type: 'text' })
  sourceKind: SourceKind;

  @Column({ type: 'text' })
  sourceTitle: string;

  @Column({ type: 'integer', nullable: true })
  pageFrom: number | null;

  @Column({ type: 'integer', nullable: true })
  pageTo: number | null;

  /** The time of the cited words in a video or sound, in whole seconds. */
  @Column({ type: 'integer', nullable: true })
  fromSeconds: number | null;

  @Column({ type: 'integer', nullable: true })
  toSeconds: number | null;

  @ManyToOne(() => AgentAnswer, { onDelete: 'CASCADE' })
  answer: Relation<AgentAnswer>;

  @ManyToOne(() => AgentSource, { onDelete: 'SET NULL' })
  source: Relation<AgentSource>;
}
