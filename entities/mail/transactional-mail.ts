/** One e-mail that a person's own act asked for (confirmation, reset, code, invitation), or that tells administrators or a student what happened. It names whom; the text is made when it is sent. */
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
/** Of sealed values: made by its migration. */
@Index('transactional_mails_address_seal_key', { synchronize: false })
@Index('transactional_mails_overdue', ['nextAttemptAt'], { where: `status = 'pending'` })
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

  /** Keyed hash of the address, by which its mails are counted, whatever account they belong to. Empty once its student is removed. */
  @Column({ type: 'bytea' })
  addressKey: Buffer;

  /** The address itself, sealed, where it is no longer the recipient's own; gone once the mail is sent or given up. */
  @Column({ type: 'bytea', nullable: true })
  sealedAddress: Buffer | null;

  /** The token that the mail carries, if it carries one: without it (spent, expired) there is nothing to send. */
  @Column({ type: 'uuid', nullable: true })
  @Index('transactional_mails_token')
  tokenId: string | null;

  /** The webhook endpoint that it is about. */
  @Column({ type: 'uuid', nullable: true })
  endpointId: string | null;

  /** The review that it tells of: each is told once. */
  @Column({ type: 'uuid', nullable: true })
  @Index('transactional_mails_review', { unique: true })
  reviewId: string | null;

  /** The session of a mentorship that it is about. */
  @Column({ type: 'uuid', nullable: true })
  sessionId: string | null;

  /** Which time of the session: each kind of mail is asked for once for each (MENT-11). */
  @Column({ type: 'integer', nullable: true })
  sessionSequence: number | null;

  /** When the session was to begin before it moved to another mentor, where that is what the mail is about; else null. */
  @Column({ type: 'timestamptz', nullable: true })
  formerStartsAt: Date | null;

  /** When it was to end. */
  @Column({ type: 'timestamptz', nullable: true })
  formerEndsAt: Date | null;

  /** How urgent it is: decides its run's task queue, too. */
  @Column({ type: 'smallint', default: 1 })
  priority: Priority;

  /** The day (UTC) in which it has a place among the club's mails; null while it has none, or needs none (DEC-65). */
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

  /** Until when the one who claimed the row works on it, by the database's clock. */
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
