/** A student of one club. A removed student's row stays as an id without name and e-mail. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';
import { accountOpeners, type AccountOpener } from './values.ts';

/** The name of a removed student in records that administrators read. The contract has this value, so it is not translated. */
export const removedStudentName = 'Removed student';

@Entity('students')
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

  /** Its usual spelling (docs/adr/0061-search-in-every-script.md), where that is not the same in small letters; a trigger writes it. */
  @Column({ type: 'text', nullable: true, select: false, insert: false, update: false })
  nameFolded: string | null;

  /** Case-folded, unique in the club; null once the student is removed. */
  @Column({ type: 'text', nullable: true })
  email: string | null;

  /**
   * Keyed hash of the e-mail, so that Postgres can compare it with suppressions; null once the student is removed, and for a while
   * where the e-mail was written without it (a trigger takes the old one away, upkeep fills it in).
   */
  @Column({ type: 'bytea', nullable: true })
  emailKey: Buffer | null;

  /** argon2id, in PHC form; null until an e-mail with a password is confirmed (the password waits on its one-time token). */
  @Column({ type: 'text', nullable: true })
  passwordHash: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  verifiedAt: Date | null;

  /**
   * A sign-up counts as a student, and stays, only once it is confirmed (DEC-62). So who may be written to is confirmed, or
   * not opened by a sign-up.
   */
  @Column({ type: 'text', default: 'club' })
  openedBy: AccountOpener;

  /** BCP 47 tag of the language in which the service writes to this person; null for the club's. */
  @Column({ type: 'text', nullable: true })
  language: string | null;

  /** Where the store has the student's picture: of the one file that is ready as it (MED-28). Null where there is none. */
  @Column({ type: 'text', nullable: true })
  avatarKey: string | null;

  /** The sum of the student's awards; may be below nothing. */
  @Column({ type: 'bigint', default: 0 })
  points: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  removedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
