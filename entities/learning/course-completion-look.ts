/**
 * A request to check which students have completed a course. A student can complete a course without sending a request, if a lesson is
 * withdrawn or if the student's access is restored. The run `course-completion/<course id>` looks at every student who may have completed
 * all published lessons. At its end, the run deletes the row.
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

  /** The latest time at which the run must look at the request. */
  @Column({ type: 'timestamptz' })
  looksAt: Date;

  /**
   * The id of the run's current pass over the students. Each pass gets a new id, so that a late page of an earlier pass changes nothing.
   */
  @Column({ type: 'uuid' })
  passId: string;

  /** The last student of the pass so far, by id; null before the first page of the pass. */
  @Column({ type: 'uuid', nullable: true })
  afterId: string | null;

  /**
   * The access of some students to the course begins in the future. This is the earliest such time that the pass has found. Another pass
   * starts at this time.
   */
  @Column({ type: 'timestamptz', nullable: true })
  resumesAt: Date | null;

  @OneToOne(() => Course, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'course_id' })
  course: Relation<Course>;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
