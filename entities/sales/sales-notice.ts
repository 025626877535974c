/** One notice of a sales platform, stored as received, with the outcome of its processing. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { noticeStatuses, type NoticeErrorCode, type NoticeStatus, type SalesPlatform } from './values.ts';
import { SalesConnection } from './sales-connection.ts';
import { oneOf } from '../one-of.ts';

@Entity('sales_notices')
@Check('sales_notices_status', oneOf('status', noticeStatuses))
@Index('sales_notices_club', ['clubId', 'receivedAt', 'id'])
@Index('sales_notices_club_status', ['clubId', 'status', 'receivedAt', 'id'])
@Index('sales_notices_connection', ['connectionId', 'receivedAt', 'id'])
@Index('sales_notices_overdue', ['nextAttemptAt'], { where: `status = 'pending'` })
@Index('sales_notices_kept', ['receivedAt'], { where: 'body IS NOT NULL' })
/** A migration creates the GIN index, so TypeORM must not create it. */
@Index('sales_notices_addresses', { synchronize: false })
/** A migration creates this index on the encrypted values, so TypeORM must not create it. */
@Index('sales_notices_proof_key', { synchronize: false })
@Index('sales_notices_student', ['studentId'], { where: 'student_id IS NOT NULL' })
export class SalesNotice {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  connectionId: string;

  @Column({ type: 'text' })
  platform: SalesPlatform;

  /** The bytes of the body, as they were received. Null after they were purged. */
  @Column({ type: 'bytea', nullable: true })
  body: Buffer | null;

  /** The proof from a header or the query, encrypted. */
  @Column({ type: 'bytea', nullable: true })
  proof: Buffer | null;

  /** Every e-mail address in the body, folded, so that a removal of a person finds the notice. Deleted with the body. */
  @Column({ type: 'text', array: true, default: '{}' })
  addresses: string[];

  /** The student that the notice is about. Null until the student is known. */
  @Column({ type: 'uuid', nullable: true })
  studentId: string | null;

  @Column({ type: 'text', default: 'pending' })
  status: NoticeStatus;

  /** The reason why the notice failed, was ignored, or is being tried again. */
  @Column({ type: 'text', nullable: true })
  errorCode: NoticeErrorCode | null;

  /** The wrong field in the body, as a path of field names. The path never contains a value. */
  @Column({ type: 'text', nullable: true })
  errorPath: string | null;

  @Column({ type: 'integer', default: 0 })
  attemptCount: number;

  @Column({ type: 'timestamptz' })
  nextAttemptAt: Date;

  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The end of the lease, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz' })
  receivedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  processedAt: Date | null;

  @ManyToOne(() => SalesConnection, { onDelete: 'CASCADE' })
  connection: Relation<SalesConnection>;
}
