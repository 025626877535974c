/** A student of one club. The row of a removed student stays, but without the name and the e-mail. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';
import { accountOpeners, type AccountOpener } from './values.ts';

/** The name that administrators see for a removed student. The contract defines this name, so it is not translated. */
export const removedStudentName = 'Removed student';

@Entity('students')
@Index('students_changed', ['clubId', 'changedAt'], { where: 'removed_at IS NULL' })
@Index('students_club_email', ['clubId', 'email'], { unique: true })
@Index('students_club_created', ['clubId', 'createdAt', 'id'], { where: 'removed_at IS NULL' })
@Index('students_club_verified', ['clubId', 'createdAt', 'id'], {
  where: 'removed_at IS NULL AND verified_at IS NOT NULL',
})
@Index('students_club_unverified', ['clubId', 'createdAt', 'id'], {
  where: 'removed_at IS NULL AND verified_at IS NULL',
})
@Index('students_pending_sign_ups', ['createdAt'], {
  where: `removed_at IS NULL AND verified_at IS NULL AND opened_by = 'sign_up'`,
})
@Index('students_without_key', ['id'], { where: 'email_key IS NULL AND email IS NOT NULL' })
@Index('students_search', { synchronize: false })
@Index('students_name_folded', { synchronize: false })
@Index('students_to_fold', ['id'], { where: 'name_folded IS NULL AND searched_spelling(name) <> lower(name)' })
@Check('students_opened_by', oneOf('opened_by', accountOpeners))
@Check('students_removed_is_anonymous', `(removed_at IS NULL) = (email IS NOT NULL)`)
@Check('students_removed_has_no_key', 'email IS NOT NULL OR email_key IS NULL')
export class Student {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  name: string;

  /**
   * The folded spelling of the name (docs/adr/0061-search-in-every-script.md), if it differs from the lower-case name. A trigger writes it.
   */
  @Column({ type: 'text', nullable: true, select: false, insert: false, update: false })
  nameFolded: string | null;

  /** The case-folded e-mail address, unique in the club. Null after the student was removed. */
  @Column({ type: 'text', nullable: true })
  email: string | null;

  /**
   * The keyed hash of the e-mail address. Postgres uses this hash to find the suppressions of the address. Null after the student was
   * removed.
   * If a process
   * writes a new e-mail without its hash, a trigger deletes the old hash. The column is then null until upkeep fills in the new hash.
   */
  @Column({ type: 'bytea', nullable: true })
  emailKey: Buffer | null;

  /**
   * argon2id, in PHC form. Null until an e-mail with a password is confirmed; before that, a one-time token stores the hash of the
   * password.
   */
  @Column({ type: 'text', nullable: true })
  passwordHash: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  verifiedAt: Date | null;

  /**
   * How the account was opened. An account of a sign-up counts as a student only after its confirmation, and is deleted without one
   * (DEC-62). The service may write to all accounts except unconfirmed sign-ups.
   */
  @Column({ type: 'text', default: 'club' })
  openedBy: AccountOpener;

  /** The BCP 47 tag of the language in which the service writes to this person. Null if the club's language applies. */
  @Column({ type: 'text', nullable: true })
  language: string | null;

  /** The key of the student's picture in the object store, once it is ready (MED-28). Null if the student has no picture. */
  @Column({ type: 'text', nullable: true })
  avatarKey: string | null;

  /** The sum of the student's awards. The sum may be negative. */
  @Column({ type: 'bigint', default: 0 })
  points: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  removedAt: Date | null;

  /** The time of the last change of the row that a list shows (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
