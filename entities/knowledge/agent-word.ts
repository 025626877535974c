/**
 * The words of a club's material. The number of passages with a word is its weight in a question. A comparison of spellings finds words in
 * spite of missing accents and typing mistakes. Only triggers write here, and they only add rows, so that writers never wait for one
 * another. A word's count is the sum of its rows, and upkeep merges them into one.
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

  /** The stem of the word by the rules of the language, which need the accents. Passages are searched by this stem. */
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
