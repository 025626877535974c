/**
 * A request to judge a course for students who send no request: a lesson was withdrawn, or access came back. The run
 * `course-completion/<course id>` looks at every student who may have completed all published lessons, and deletes the row at its end.
 */
import { Column, Entity, Index, JoinColumn, ManyToOne, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Course } from './course.ts';

@Entity('course_completion_looks')
@Index('course_completion_looks_looks_at', ['looksAt'])
export class CourseCompletionLook {
  @PrimaryColumn({ type: 'uuid' })
  courseId: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The latest time at which its run must look at it. */
  @Column({ type: 'timestamptz' })
  looksAt: Date;

  /** A new id for each pass: a page of an earlier pass changes nothing. */
  @Column({ type: 'uuid' })
  passId: string;

  /** The last student of the pass so far, by id; null before the first page. */
  @Column({ type: 'uuid', nullable: true })
  afterId: string | null;

  /** The earliest future begin of an access that this pass found: another pass begins then. */
  @Column({ type: 'timestamptz', nullable: true })
  resumesAt: Date | null;

  @OneToOne(() => Course, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'course_id' })
  course: Relation<Course>;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
