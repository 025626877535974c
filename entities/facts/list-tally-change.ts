/**
 * The amount by which one statement changed the tallies of a list. Triggers only add rows to this table, so that writers never wait for one
 * another.
 */
import { Column, Entity, Generated, PrimaryColumn } from 'typeorm';
import type { TalliedList } from './values.ts';

@Entity('list_tally_changes')
export class ListTallyChange {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  list: TalliedList;

  @PrimaryColumn({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  @Column({ type: 'uuid' })
  subjectId: string;

  @Column({ type: 'boolean' })
  marked: boolean;

  @Column({ type: 'integer' })
  records: number;
}
