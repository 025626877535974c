/** A mentorship: the hours that a member of the club offers to students for sessions. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Administrator } from '../identity/administrator.ts';
import { oneOf } from '../one-of.ts';
import { mentorshipStatuses, type DatedHours, type MentorshipStatus, type WeeklyHours } from './values.ts';

@Entity('mentorships')
@Check('mentorships_status', oneOf('status', mentorshipStatuses))
@Check('mentorships_duration', 'duration_minutes BETWEEN 15 AND 240')
@Check('mentorships_buffer', 'buffer_minutes BETWEEN 0 AND 240')
@Check('mentorships_horizon', 'horizon_days BETWEEN 1 AND 180')
@Index('mentorships_club_public_id', ['clubId', 'publicId'], { unique: true })
@Index('mentorships_club_created', ['clubId', 'createdAt', 'id'])
export class Mentorship {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The mentorship's name in classroom URLs, unique in the club. */
  @Column({ type: 'text' })
  publicId: string;

  @Column({ type: 'text' })
  title: string;

  @Column({ type: 'text', default: '' })
  description: string;

  @Column({ type: 'text', default: 'draft' })
  status: MentorshipStatus;

  /** The mentor, whose hours are offered only while the mentor is a member of the club. */
  @Column({ type: 'uuid' })
  mentorId: string;

  @Column({ type: 'smallint' })
  durationMinutes: number;

  /** The number of minutes that stay free after each session. */
  @Column({ type: 'smallint', default: 0 })
  bufferMinutes: number;

  /** The IANA name of a time zone. The hours are in the local time of this zone. */
  @Column({ type: 'text' })
  timeZone: string;

  @Column({ type: 'jsonb' })
  weeklyHours: readonly WeeklyHours[];

  @Column({ type: 'jsonb' })
  exceptions: readonly DatedHours[];

  /** The shortest time between a booking and the beginning of the session. */
  @Column({ type: 'integer', default: 0 })
  noticeMinutes: number;

  /** The longest time between a booking and the beginning of the session. */
  @Column({ type: 'smallint' })
  horizonDays: number;

  /** The maximum number of future sessions of one student. */
  @Column({ type: 'smallint' })
  maxUpcoming: number;

  /** The shortest time before the beginning at which a student may cancel or move a session. */
  @Column({ type: 'integer', default: 0 })
  cancelDeadlineMinutes: number;

  /** The URL of the meeting. Only students with a booking see it. */
  @Column({ type: 'text', nullable: true })
  meetingUrl: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  publishedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  mentor: Relation<Administrator>;
}
