/** A token or code that can be used once and that expires. It is mailed to a student or an administrator. */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import type { TokenPurpose } from './values.ts';
import { Administrator } from '../identity/administrator.ts';
import { IdentityJoin } from '../identity/identity-join.ts';
import { Invitation } from '../clubs/invitation.ts';
import { Student } from '../identity/student.ts';

@Entity('one_time_tokens')
@Check('one_time_tokens_owner', 'num_nonnulls(student_id, administrator_id, invitation_id, identity_join_id) = 1')
export class OneTimeToken {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'text' })
  purpose: TokenPurpose;

  /**
   * The SHA-256 of the token. Null for a code. The service finds the row of a code by the student, and derives the code again to compare it
   * with the entered code.
   */
  @Column({ type: 'bytea', nullable: true })
  @Index('one_time_tokens_hash', { unique: true })
  tokenHash: Buffer | null;

  /**
   * The id of the master key from which the token is derived. Null if the token was created by an older release, which had only one key.
   */
  @Column({ type: 'bytea', nullable: true })
  keyId: Buffer | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('one_time_tokens_student')
  studentId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('one_time_tokens_administrator')
  administratorId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('one_time_tokens_invitation')
  invitationId: string | null;

  /** The person who has signed in at an identity provider, and proves an account with a code. */
  @Column({ type: 'uuid', nullable: true })
  @Index('one_time_tokens_identity_join', { where: 'identity_join_id IS NOT NULL' })
  identityJoinId: string | null;

  /**
   * The hash of the password that a repeated sign-up sent. This password gives no access. Its hash shows that sign-ups have sent more than
   * one password (ADR 5).
   */
  @Column({ type: 'text', nullable: true })
  passwordHash: string | null;

  /** The number of wrong guesses that a code still allows. Null for tokens, which cannot be guessed. */
  @Column({ type: 'smallint', nullable: true })
  triesLeft: number | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  @Index('one_time_tokens_expiry')
  expiresAt: Date;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  administrator: Relation<Administrator>;

  @ManyToOne(() => Invitation, { onDelete: 'CASCADE' })
  invitation: Relation<Invitation>;

  @ManyToOne(() => IdentityJoin, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'identity_join_id', foreignKeyConstraintName: 'one_time_tokens_identity_join_id_fkey' })
  identityJoin: Relation<IdentityJoin> | null;
}
