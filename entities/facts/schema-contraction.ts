/** A migration that has taken something away, and the first version that does without: older ones do not start any more. */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('schema_contractions')
export class SchemaContraction {
  /** The migration's name. */
  @PrimaryColumn({ type: 'text' })
  migration: string;

  @Column({ type: 'text' })
  needs: string;
}
