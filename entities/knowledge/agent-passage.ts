/**
 * A passage of a source: about 300 to 600 characters of one page. The search finds whole passages, and the model's context consists of
 * whole passages.
 */
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

  /** The position of the passage in the source, from 0. */
  @Column({ type: 'integer' })
  position: number;

  /** The number of the page, from 1. Null if the source has no pages. */
  @Column({ type: 'integer', nullable: true })
  page: number | null;

  /** The title of the source. It is repeated in this row, so that it is searched together with the text. */
  @Column({ type: 'text' })
  title: string;

  /** The headings above the passage, with the outermost first. */
  @Column({ type: 'text', array: true })
  headings: string[];

  /**
   * The blocks of the passage. A block is a sentence with the white space next to it, and the joined blocks are the text of the passage. A
   * citation covers whole blocks.
   */
  @Column({ type: 'text', array: true })
  blocks: string[];

  @Column({ type: 'text' })
  text: string;

  /** The time of each block in a video or sound, in whole seconds; null for other sources. */
  @Column({ type: 'integer', array: true, nullable: true })
  fromSeconds: number[] | null;

  @Column({ type: 'integer', array: true, nullable: true })
  toSeconds: number[] | null;

  /** The language whose rules split the passage into words. */
  @Column({ type: 'text' })
  language: Language;

  /**
   * Three elements: the words of the title, of the headings and of the text. The application splits each of these texts into words, which
   * are separated by spaces here. An element is null if its text has only Latin letters, because Postgres splits such a text itself. The
   * whole column is null if an older release wrote the row.
   */
  @Column({ type: 'text', array: true, nullable: true, select: false })
  words: (string | null)[] | null;

  /** The words of title (A), headings (B) and text (D). A trigger writes them, and only `retrieve` reads them. */
  @Column({ type: 'tsvector', select: false, insert: false, update: false })
  search: string;

  @ManyToOne(() => AgentSource, { onDelete: 'CASCADE', deferrable: 'INITIALLY IMMEDIATE' })
  source: Relation<AgentSource>;
}
