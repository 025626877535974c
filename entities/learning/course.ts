/** A course of a club: ordered modules with lessons. Students see the course while it is published and they have access. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { courseStatuses, type CourseStatus } from './values.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('courses')
@Check('courses_status', oneOf('status', courseStatuses))
@Index('courses_club_public_id', ['clubId', 'publicId'], { unique: true })
@Index('courses_club_created', ['clubId', 'createdAt', 'id'])
export class Course {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The name of the course in addresses of the classroom, unique in the club. */
  @Column({ type: 'text' })
  publicId: string;

  @Column({ type: 'text' })
  title: string;

  @Column({ type: 'text', default: '' })
  description: string;

  @Column({ type: 'text', default: 'draft' })
  status: CourseStatus;

  /** The duration of the course in hours, which certificates show. */
  @Column({ type: 'smallint', nullable: true })
  hours: number | null;

  /** Whether the completion of the course issues a certificate. */
  @Column({ type: 'boolean', default: false })
  certificateOnCompletion: boolean;

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
}
