/** A passkey of an administrator or of a student (PKY-1). The private key stays in the authenticator of the person. */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { SecondFactor } from './second-factor.ts';
import { Student } from './student.ts';

@Entity('passkeys')
@Check('passkeys_owner', 'num_nonnulls(factor_id, student_id) = 1')
@Check('passkeys_of_student', 'num_nonnulls(student_id, club_id, name) IN (0, 3)')
@Index('passkeys_credential_of_administrator', ['credentialId'], { unique: true, where: 'club_id IS NULL' })
@Index('passkeys_credential_of_student', ['clubId', 'credentialId'], { unique: true, where: 'club_id IS NOT NULL' })
@Index('passkeys_factor', ['factorId'], { unique: true, where: 'factor_id IS NOT NULL' })
@Index('passkeys_student', ['studentId'], { where: 'student_id IS NOT NULL' })
export class Passkey {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'passkeys_pkey' })
  id: string;

  /** The second factor of an administrator, which has the owner, the name and the time of the last use. Null for a student. */
  @Column({ type: 'uuid', nullable: true })
  factorId: string | null;

  @Column({ type: 'uuid', nullable: true })
  studentId: string | null;

  /** The club of the student. Null for an administrator, whose account belongs to no club. */
  @Column({ type: 'uuid', nullable: true })
  clubId: string | null;

  /** The id that the authenticator gave to the key, at most 1,023 bytes. It is unique among administrators, and in each club. */
  @Column({ type: 'bytea' })
  credentialId: Buffer;

  /** The public key as COSE, in CBOR. */
  @Column({ type: 'bytea' })
  publicKey: Buffer;

  /** The signature counter of the last use. 0 if the authenticator does not count, which is usual for synchronized passkeys. */
  @Column({ type: 'bigint' })
  counter: string;

  /** How browsers reach the authenticator, such as `internal` or `usb`. */
  @Column({ type: 'text', array: true })
  transports: string[];

  /** Whether the authenticator may copy the key to other devices of the person. */
  @Column({ type: 'boolean' })
  isSynced: boolean;

  /** The student's own name for the passkey. Null for an administrator. */
  @Column({ type: 'text', nullable: true })
  name: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  /** Null before the first use, and for an administrator. */
  @Column({ type: 'timestamptz', nullable: true })
  lastUsedAt: Date | null;

  @ManyToOne(() => SecondFactor, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'factor_id', foreignKeyConstraintName: 'passkeys_factor_id_fkey' })
  factor: Relation<SecondFactor>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'student_id', foreignKeyConstraintName: 'passkeys_student_id_fkey' })
  student: Relation<Student>;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'passkeys_club_id_fkey' })
  club: Relation<Club>;
}
