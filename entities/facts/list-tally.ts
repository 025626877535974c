/** How many records a list of a club has: of a subject (the delivery, the course), and with or without the list's mark. */
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { talliedLists, type TalliedList } from './values.ts';
import { oneOf } from '../one-of.ts';

/**
 * Without references: what is removed is counted too, and leaves nothing. A sum over it is exact only together with the
 * changes that are not yet rolled up into it (ListTallyChange), read in one statement.
 */
@Entity('list_tallies')
@Check('list_tallies_list', oneOf('list', talliedLists))
export class ListTally {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  list: TalliedList;

  /** The delivery, the course, the campaign, the link of a mail; all zeros for students and submissions, which are of none. */
  @PrimaryColumn({ type: 'uuid' })
  subjectId: string;

  /** A student who is verified, an enrollment or a certificate that is revoked, a mail or a link that a machine opened. */
  @PrimaryColumn({ type: 'boolean' })
  marked: boolean;

  @Column({ type: 'integer' })
  records: number;
}
