/**
 * A code that is sent to the telephone number of an administrator, with the state of its sending (SES-5). The row stores neither the number
 * nor the code.
 */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Administrator } from './administrator.ts';
import { phoneCodeStatuses, type PhoneCodeStatus } from './values.ts';

@Entity('phone_codes')
@Check('phone_codes_status', oneOf('status', phoneCodeStatuses))
@Index('phone_codes_of_administrator', ['administratorId', 'createdAt'])
@Index('phone_codes_of_number', ['numberKey', 'createdAt'])
@Index('phone_codes_created', ['createdAt'])
@Index('phone_codes_due', ['nextAttemptAt'], { where: `status = 'pending'` })
export class PhoneCode {
  /** The code is derived from this id. It is also the id of the message, so that a receiver recognizes a repetition. */
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'phone_codes_pkey' })
  id: string;

  /** Always null, because an account of an administrator belongs to no club. All codes are one party when clubs take turns (ENG-9). */
  @Column({ type: 'uuid', nullable: true })
  clubId: string | null;

  @Column({ type: 'uuid' })
  administratorId: string;

  /** The keyed hash of the number. It is used to compare and to count numbers. */
  @Column({ type: 'bytea' })
  numberKey: Buffer;

  /** The id of the master key from which the code is derived. */
  @Column({ type: 'bytea' })
  keyId: Buffer;

  /** The number of wrong codes that are still allowed. */
  @Column({ type: 'smallint' })
  triesLeft: number;

  @Column({ type: 'text', default: 'pending' })
  status: PhoneCodeStatus;

  @Column({ type: 'smallint', default: 0 })
  attemptCount: number;

  @Column({ type: 'timestamptz' })
  nextAttemptAt: Date;

  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The end of the lease, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  expiresAt: Date;

  /** The time at which the code verified the number. Null if it has not. */
  @Column({ type: 'timestamptz', nullable: true })
  spentAt: Date | null;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'administrator_id', foreignKeyConstraintName: 'phone_codes_administrator' })
  administrator: Relation<Administrator>;
}
