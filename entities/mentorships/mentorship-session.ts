/** A session that a student has booked with a mentor. When the session is moved, its time changes, but its id stays the same. */
import { Check, Column, Entity, Exclusion, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Administrator } from '../identity/administrator.ts';
import { Student } from '../identity/student.ts';
import { oneOf } from '../one-of.ts';
import { Mentorship } from './mentorship.ts';
import { sessionCancelers, storedSessionStatuses, type SessionCanceler, type StoredSessionStatus } from './values.ts';

@Entity('mentorship_sessions')
@Index('mentorship_sessions_changed', ['clubId', 'changedAt'])
@Check('mentorship_sessions_status', oneOf('status', storedSessionStatuses))
@Check('mentorship_sessions_times', 'starts_at < ends_at AND ends_at <= busy_until')
@Check('mentorship_sessions_canceled', `(status = 'canceled') = (canceled_at IS NOT NULL)`)
@Check('mentorship_sessions_canceler', oneOf('canceled_by', sessionCancelers))
@Check('mentorship_sessions_rating', 'rating BETWEEN 1 AND 5')
// A mentor and a student can be in only one session at a time, even if requests are concurrent (MENT-6).
@Exclusion(
  'mentorship_sessions_mentor',
  `USING gist (mentor_id WITH =, tstzrange(starts_at, busy_until) WITH &&) WHERE (status <> 'canceled')`,
)
@Exclusion(
  'mentorship_sessions_student',
  `USING gist (student_id WITH =, tstzrange(starts_at, ends_at) WITH &&) WHERE (status <> 'canceled')`,
)
@Index('mentorship_sessions_club', ['clubId', 'startsAt', 'id'])
@Index('mentorship_sessions_canceled_ones', ['clubId', 'startsAt', 'id'], { where: `status = 'canceled'` })
@Index('mentorship_sessions_no_shows', ['clubId', 'startsAt', 'id'], { where: `status = 'no_show'` })
@Index('mentorship_sessions_of_mentor', ['clubId', 'mentorId', 'startsAt', 'id'])
@Index('mentorship_sessions_mentorship', ['mentorshipId', 'startsAt', 'id'])
@Index('mentorship_sessions_of_student', ['studentId', 'startsAt', 'id'])
@Index('mentorship_sessions_due', ['looksAt'], { where: 'looks_at IS NOT NULL' })
export class MentorshipSession {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  mentorshipId: string;

  /** The member who was the mentor at the time of booking. */
  @Column({ type: 'uuid' })
  mentorId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  @Column({ type: 'text', default: 'booked' })
  status: StoredSessionStatus;

  @Column({ type: 'timestamptz' })
  startsAt: Date;

  @Column({ type: 'timestamptz' })
  endsAt: Date;

  /** The end of the session plus the mentorship's buffer, as it was at the time of booking. */
  @Column({ type: 'timestamptz' })
  busyUntil: Date;

  /**
   * The version of the session's time, from 0. A move or a cancellation increases it. The calendar entry has this version too. Each mail
   * stores the version for which it was requested.
   */
  @Column({ type: 'integer', default: 0 })
  sequence: number;

  /** The topics that the student wants to discuss. Empty if the student named no topics. */
  @Column({ type: 'text', default: '' })
  agenda: string;

  /** The time at which the current time of the session was chosen. */
  @Column({ type: 'timestamptz' })
  bookedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  canceledAt: Date | null;

  @Column({ type: 'text', nullable: true })
  canceledBy: SessionCanceler | null;

  @Column({ type: 'text', default: '' })
  cancelReason: string;

  @Column({ type: 'smallint', nullable: true })
  rating: number | null;

  @Column({ type: 'text', default: '' })
  ratingComment: string;

  @Column({ type: 'timestamptz', nullable: true })
  ratedAt: Date | null;

  /** The time at which the session's run next checks the session. Null if no further mail is due. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last change of the row that a list shows (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Mentorship, { onDelete: 'CASCADE' })
  mentorship: Relation<Mentorship>;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  mentor: Relation<Administrator>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
