/**
 * A request to check the completion of a course for students who send no completion request. The cause is a withdrawn lesson or a restored
 * access. The run `course-completion/<course id>` looks at every student who may have completed all published lessons, and deletes the row
 * at its end.
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

  /** The id of the pass. Each pass gets a new id, so that a page of an earlier pass changes nothing. */
  @Column({ type: 'uuid' })
  passId: string;

  /** The last student of the pass so far, by id; null before the first page of the pass. */
  @Column({ type: 'uuid', nullable: true })
  afterId: string | null;

  /** The earliest future beginning of an access that this pass has found. Another pass starts at this time. */
  @Column({ type: 'timestamptz', nullable: true })
  resumesAt: Date | null;

  @OneToOne(() => Course, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'course_id' })
  course: Relation<Course>;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
