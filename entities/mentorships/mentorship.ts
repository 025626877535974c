/** Hours that a member of the club offers to students, who book sessions in them. */
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

  /** Names it in the addresses of the classroom; unique in the club. */
  @Column({ type: 'text' })
  publicId: string;

  @Column({ type: 'text' })
  title: string;

  @Column({ type: 'text', default: '' })
  description: string;

  @Column({ type: 'text', default: 'draft' })
  status: MentorshipStatus;

  /** Offers hours only while they are a member of the club. */
  @Column({ type: 'uuid' })
  mentorId: string;

  @Column({ type: 'smallint' })
  durationMinutes: number;

  /** That stay free after each session. */
  @Column({ type: 'smallint', default: 0 })
  bufferMinutes: number;

  /** An IANA name; the hours are by its clock. */
  @Column({ type: 'text' })
  timeZone: string;

  @Column({ type: 'jsonb' })
  weeklyHours: readonly WeeklyHours[];

  @Column({ type: 'jsonb' })
  exceptions: readonly DatedHours[];

  /** A session is booked so long before it begins. */
  @Column({ type: 'integer', default: 0 })
  noticeMinutes: number;

  /** A session is booked at most so long before it begins. */
  @Column({ type: 'smallint' })
  horizonDays: number;

  /** Sessions of one student that have not begun. */
  @Column({ type: 'smallint' })
  maxUpcoming: number;

  /** A student cancels or moves a session so long before it begins. */
  @Column({ type: 'integer', default: 0 })
  cancelDeadlineMinutes: number;

  /** Where they meet; only who has booked sees it. */
  @Column({ type: 'text', nullable: true })
  meetingUrl: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  publishedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  mentor: Relation<Administrator>;
}
