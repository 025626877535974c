/**
 * The words of a club's material: how many passages have each, by which a question's words are weighed, and how each is spelled,
 * by which accents that a question leaves out and slips of typing find it. Written by triggers alone, by adding rows, so that
 * writers never wait for one another; a word's count is the sum of its rows, and upkeep makes them one.
 */
import { Column, Entity, Generated, Index, PrimaryColumn } from 'typeorm';

@Entity('agent_words')
@Index('agent_words_lexeme', ['clubId', 'lexeme'])
@Index('agent_words_stem', ['clubId', 'stem'])
@Index('agent_words_spelling', ['clubId', 'initial', 'size'])
@Index('agent_words_to_fold', ['seq'], { where: 'NOT folded' })
export class AgentWord {
  @PrimaryColumn({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** As it is written, in small letters and without accents. */
  @Column({ type: 'text' })
  word: string;

  /** Its first character. */
  @Column({ type: 'text' })
  initial: string;

  /** Characters of it. */
  @Column({ type: 'smallint' })
  size: number;

  /** What passages are searched by: its stem by the rules of the language, which need its accents. */
  @Column({ type: 'text' })
  lexeme: string;

  /** Its stem where its accents are left out before. */
  @Column({ type: 'text' })
  stem: string;

  /** Passages that have it; less than none where some have gone. */
  @Column({ type: 'integer' })
  passages: number;

  /** Whether upkeep has made it of all rows of the word that there were. */
  @Column({ type: 'boolean', default: false })
  folded: boolean;
}
