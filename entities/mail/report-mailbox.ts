/** The progress of the worker in a mailbox with delivery reports. One worker at a time holds its lease (BNC-7). */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('report_mailboxes')
export class ReportMailbox {
  /** SHA-256 of the server, the user and the folder, without the password. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'report_mailboxes_key' })
  key: Buffer;

  /** UIDVALIDITY of the folder. If it changes, the server has numbered the messages again. */
  @Column({ type: 'bigint', default: 0 })
  validity: string;

  /** Messages up to this UID need no further look. */
  @Column({ type: 'bigint', default: 0 })
  seenUid: string;

  /** The message at which the last fetch failed. */
  @Column({ type: 'bigint', default: 0 })
  failedUid: string;

  /** The number of fetches in a row that failed at this message. */
  @Column({ type: 'integer', default: 0 })
  failures: number;

  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The end of the lease, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;
}
