/**
 * A request with the header `Idempotency-Key`, and its answer for a repetition (IDEM-2). The row is written in the transaction of the
 * request.
 */
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('idempotency_keys')
@Index('idempotency_keys_expiry', ['expiresAt'])
@Index('idempotency_keys_students', ['clubId'], { where: 'is_about_student' })
/** The migration creates the index of sealed values. */
@Index('idempotency_keys_answer_key', { synchronize: false })
@Index('idempotency_keys_club', ['clubId'], { where: 'club_id IS NOT NULL' })
export class IdempotencyKey {
  /** The kind and the id of the caller: `student:…`, `administrator:…`. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'idempotency_keys_pkey' })
  caller: string;

  /** The SHA-256 of the key. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'idempotency_keys_pkey' })
  keyHash: Buffer;

  /** The context of the sealed answer. The order of ids is the order of the answers. */
  @Column({ type: 'uuid' })
  id: string;

  /** The club of the path or of the student. Null for an administrator's request outside a club. */
  @Column({ type: 'uuid', nullable: true })
  clubId: string | null;

  /** Whether the answer may contain data about a student. False after the answer was emptied. */
  @Column({ type: 'boolean' })
  isAboutStudent: boolean;

  /** The SHA-256 of method, route, parameters, query and body. */
  @Column({ type: 'bytea' })
  fingerprint: Buffer;

  /** The status of the answer. Null only until the transaction of the request ends. */
  @Column({ type: 'smallint', nullable: true })
  status: number | null;

  /** The sealed headers and body. Null if the answer was emptied after the removal of a student, or was too large. */
  @Column({ type: 'bytea', nullable: true })
  answer: Buffer | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  expiresAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ foreignKeyConstraintName: 'idempotency_keys_club_fkey' })
  club: Relation<Club>;
}
