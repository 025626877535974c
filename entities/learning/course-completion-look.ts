/**
 * That a course must be judged for students who do nothing themselves: a lesson was withdrawn, or access came back. The run
 * `course-completion/<course id>` looks at every student who may have completed all published lessons; the row goes with its end.
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

  /** When its run must have looked. */
  @Column({ type: 'timestamptz' })
  looksAt: Date;

  /** Another id for each beginning: a page of the pass before moves nothing. */
  @Column({ type: 'uuid' })
  passId: string;

  /** The student up to whom the pass has come, by id; null before the first page. */
  @Column({ type: 'uuid', nullable: true })
  afterId: string | null;

  /** The earliest beginning of an access that this pass found in the future: another pass begins then. */
  @Column({ type: 'timestamptz', nullable: true })
  resumesAt: Date | null;

  @OneToOne(() => Course, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'course_id' })
  course: Relation<Course>;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
