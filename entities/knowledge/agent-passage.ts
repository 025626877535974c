/** A passage of a source, of some 300 to 600 characters and inside one page: what retrieval finds and the model is shown. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn, Unique } from 'typeorm';
import type { Relation } from 'typeorm';
import type { Language } from '../clubs/values.ts';
import { AgentSource } from './agent-source.ts';

@Entity('agent_passages')
@Unique('agent_passages_source', ['sourceId', 'position'], { deferrable: 'INITIALLY IMMEDIATE' })
@Index('agent_passages_search', { synchronize: false })
export class AgentPassage {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  sourceId: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** From 0: its place in the source. */
  @Column({ type: 'integer' })
  position: number;

  /** From 1; null for what has no pages. */
  @Column({ type: 'integer', nullable: true })
  page: number | null;

  /** The source's, repeated here to be searched with the text. */
  @Column({ type: 'text' })
  title: string;

  /** The headings that it stands under, the outermost first. */
  @Column({ type: 'text', array: true })
  headings: string[];

  /** Its sentences, with the white space between them: joined, they are the passage. A citation is of whole blocks. */
  @Column({ type: 'text', array: true })
  blocks: string[];

  @Column({ type: 'text' })
  text: string;

  /** By block: when it is said in a video or sound, in whole seconds; null for what is none. */
  @Column({ type: 'integer', array: true, nullable: true })
  fromSeconds: number[] | null;

  @Column({ type: 'integer', array: true, nullable: true })
  toSeconds: number[] | null;

  /** By whose rules its words are taken apart. */
  @Column({ type: 'text' })
  language: Language;

  /**
   * The words of title, headings and text with blanks between them, as the application takes these apart; null for one that is written in
   * Latin letters alone, which Postgres takes apart. Null as a whole: written by a release before this one.
   */
  @Column({ type: 'text', array: true, nullable: true, select: false })
  words: (string | null)[] | null;

  /** Its words, of title (A), headings (B) and text (D): kept by a trigger, read by `retrieve` alone. */
  @Column({ type: 'tsvector', select: false, insert: false, update: false })
  search: string;

  @ManyToOne(() => AgentSource, { onDelete: 'CASCADE', deferrable: 'INITIALLY IMMEDIATE' })
  source: Relation<AgentSource>;
}
