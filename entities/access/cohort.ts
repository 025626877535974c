/** A group that takes a course together. The dates of the cohort are the default dates of its enrollments. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Course } from '../learning/course.ts';

@Entity('cohorts')
@Check('cohorts_dates', 'ends_at > starts_at')
@Index('cohorts_course', ['courseId', 'createdAt', 'id'])
export class Cohort {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  courseId: string;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'timestamptz', nullable: true })
  startsAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  endsAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Course, { onDelete: 'CASCADE' })
  course: Relation<Course>;
}
