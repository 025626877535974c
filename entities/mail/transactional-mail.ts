/** One e-mail that a person requested (confirmation, reset, code, invitation), or that reports an event to administrators or a student. It names the recipient; the text is created when it is sent. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { mailStatuses, type MailStatus, type MailTemplate } from './values.ts';
import { AssignmentReview } from '../assignments/assignment-review.ts';
import { MentorshipSession } from '../mentorships/mentorship-session.ts';
import { Administrator } from '../identity/administrator.ts';
import { Club } from '../clubs/club.ts';
import { Invitation } from '../clubs/invitation.ts';
import { OneTimeToken } from './one-time-token.ts';
import type { Priority } from '../facts/values.ts';
import { Student } from '../identity/student.ts';
import { oneOf } from '../one-of.ts';

@Entity('transactional_mails')
@Check('transactional_mails_status', oneOf('status', mailStatuses))
@Check('transactional_mails_recipient', 'num_nonnulls(student_id, administrator_id, invitation_id) <= 1')
@Index('transactional_mails_address', ['addressKey', 'template', 'createdAt'])
@Index('transactional_mails_session', ['sessionId', 'template', 'sessionSequence'], { unique: true })
/** A migration creates this index on the sealed values, so TypeORM must not create it. */
@Index('transactional_mails_address_seal_key', { synchronize: false })
@Index('transactional_mails_overdue', ['nextAttemptAt'], { where: `status = 'pending'` })
@Index('transactional_mails_club', ['clubId'], { where: 'club_id IS NOT NULL' })
export class TransactionalMail {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid', nullable: true })
  clubId: string | null;

  @Column({ type: 'text' })
  template: MailTemplate;

  @Column({ type: 'uuid', nullable: true })
  @Index('transactional_mails_student')
  studentId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('transactional_mails_administrator')
  administratorId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('transactional_mails_invitation')
  invitationId: string | null;

  /**
   * The keyed hash of the address. The hash is used to count the mails of an address across accounts. It is empty after the student was
   * removed.
   */
  @Column({ type: 'bytea' })
  addressKey: Buffer;

  /**
   * The sealed address, if it is not the recipient's current address. The sealed address is deleted after the mail was sent or given up.
   */
  @Column({ type: 'bytea', nullable: true })
  sealedAddress: Buffer | null;

  /** The token in the mail, if the mail contains one. If the token was used or has expired, the mail is not sent. */
  @Column({ type: 'uuid', nullable: true })
  @Index('transactional_mails_token')
  tokenId: string | null;

  /** The webhook endpoint that the mail is about. */
  @Column({ type: 'uuid', nullable: true })
  endpointId: string | null;

  /** The review that the mail announces. Each review is announced once. */
  @Column({ type: 'uuid', nullable: true })
  @Index('transactional_mails_review', { unique: true })
  reviewId: string | null;

  /** The session of a mentorship that the mail is about. */
  @Column({ type: 'uuid', nullable: true })
  sessionId: string | null;

  /** The version of the session's time. For each version, each kind of mail is requested once (MENT-11). */
  @Column({ type: 'integer', nullable: true })
  sessionSequence: number | null;

  /** The former beginning of the session, for a mail about its move to another mentor. Null for other mails. */
  @Column({ type: 'timestamptz', nullable: true })
  formerStartsAt: Date | null;

  /** The former end of the session, for a mail about its move to another mentor. Null for other mails. */
  @Column({ type: 'timestamptz', nullable: true })
  formerEndsAt: Date | null;

  /** The kind of the device of the sign-in that the mail is about. Deleted after the mail was sent or given up. */
  @Column({ type: 'text', nullable: true })
  device: string | null;

  /** The network of the sign-in that the mail is about, in CIDR notation. Deleted after the mail was sent or given up. */
  @Column({ type: 'text', nullable: true })
  network: string | null;

  /** The priority of the mail. It also decides in which task queue the mail's run works. */
  @Column({ type: 'smallint', default: 1 })
  priority: Priority;

  /**
   * The day (UTC) whose daily allowance includes the mail. Null if the mail needs no allowance, or if it does not have a day yet (DEC-65).
   */
  @Column({ type: 'date', nullable: true })
  placedOn: string | null;

  @Column({ type: 'text', default: 'pending' })
  status: MailStatus;

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

  @Column({ type: 'timestamptz', nullable: true })
  sentAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  administrator: Relation<Administrator>;

  @ManyToOne(() => Invitation, { onDelete: 'SET NULL' })
  invitation: Relation<Invitation>;

  @ManyToOne(() => AssignmentReview, { onDelete: 'SET NULL' })
  review: Relation<AssignmentReview>;

  @ManyToOne(() => MentorshipSession, { onDelete: 'SET NULL' })
  session: Relation<MentorshipSession>;

  @ManyToOne(() => OneTimeToken, { onDelete: 'SET NULL' })
  token: Relation<OneTimeToken>;
}
