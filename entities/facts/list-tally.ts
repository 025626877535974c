/** The number of records in a club's list: per subject (the delivery, the course), and with or without the list's mark. */
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { talliedLists, type TalliedList } from './values.ts';
import { oneOf } from '../one-of.ts';

/**
 * The row has no foreign keys, because deletions are counted too, down to zero. A sum is exact only together with the changes that are not
 * yet merged into it (ListTallyChange). One statement must read both.
 */
@Entity('list_tallies')
@Check('list_tallies_list', oneOf('list', talliedLists))
export class ListTally {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  list: TalliedList;

  /**
   * The subject: a delivery, a course, a campaign, or the link of a mail. It is all zeros for students and submissions, which have no
   * subject.
   */
  @PrimaryColumn({ type: 'uuid' })
  subjectId: string;

  /** The mark: a verified student, a revoked enrollment or certificate, or a mail or link that a machine opened. */
  @PrimaryColumn({ type: 'boolean' })
  marked: boolean;

  @Column({ type: 'integer' })
  records: number;
}
