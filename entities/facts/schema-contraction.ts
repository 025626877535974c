/**
 * An applied migration that removed something, and the first version that works without it. Versions before this version do not start any
 * more.
 */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('schema_contractions')
export class SchemaContraction {
  /** The migration's name. */
  @PrimaryColumn({ type: 'text' })
  migration: string;

  @Column({ type: 'text' })
  needs: string;
}
