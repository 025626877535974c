/**
 * An applied migration that removed something, and the first version that works without it. Processes of earlier versions refuse to start.
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
