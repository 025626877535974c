/**
 * A count of records in a list of a club. Each row counts the records of one subject, such as a delivery or a course. One row counts the
 * records with the list's mark, and a different row counts the records without the mark.
 */
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { talliedLists, type TalliedList } from './values.ts';
import { oneOf } from '../one-of.ts';

/**
 * The row has no foreign keys, because deletions must also be counted, until the count is zero. A sum is exact only together with the
 * changes that are not added to it yet (ListTallyChange). One statement must read the sum and the changes.
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

  /**
   * True: the row counts the records with the mark. False: it counts the other records. The mark depends on the list: a verified student, a
   * revoked enrollment or certificate, or a mail or link that a machine opened.
   */
  @PrimaryColumn({ type: 'boolean' })
  marked: boolean;

  @Column({ type: 'integer' })
  records: number;
}
