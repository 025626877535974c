/**
 * Counts in how many passages of a club's material each word occurs. This number decides the weight of the word in a question. The
 * spellings let the service find words in spite of missing accents and typing mistakes. Triggers only add rows, so that writers never wait
 * for one another. Upkeep merges the rows of a word.
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

  /** The written form, in lower case and without accents. */
  @Column({ type: 'text' })
  word: string;

  /** Its first character. */
  @Column({ type: 'text' })
  initial: string;

  /** The number of characters of the word. */
  @Column({ type: 'smallint' })
  size: number;

  /** The stem of the word with its accents. Passages are searched by this stem. */
  @Column({ type: 'text' })
  lexeme: string;

  /** The stem of the word after its accents were removed. */
  @Column({ type: 'text' })
  stem: string;

  /** The number of passages that contain the word. It is negative in a row that counts deleted passages. */
  @Column({ type: 'integer' })
  passages: number;

  /** Whether upkeep has merged all earlier rows of the word into this row. */
  @Column({ type: 'boolean', default: false })
  folded: boolean;
}
