/**
 * A request to check which students have completed a course. Students can complete a course without doing anything, for example when a
 * lesson is withdrawn or when their access is restored. The run `course-completion/<course id>` checks these students and then deletes the
 * row.
 */
import { Column, Entity, Index, JoinColumn, ManyToOne, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Course } from './course.ts';

@Entity('course_completion_looks')
@Index('course_completion_looks_looks_at', ['looksAt'])
@Index('course_completion_looks_club', ['clubId'])
export class CourseCompletionLook {
  @PrimaryColumn({ type: 'uuid' })
  courseId: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The time by which the run must check the request again. */
  @Column({ type: 'timestamptz' })
  looksAt: Date;

  /**
   * The id of the run's current pass over the students. Each pass gets a new id, so that a late page of an earlier pass changes nothing.
   */
  @Column({ type: 'uuid' })
  passId: string;

  /** The last student that the pass has checked, in the order of ids. Null before the first page of the pass. */
  @Column({ type: 'uuid', nullable: true })
  afterId: string | null;

  /** The next time at which a student's access to the course begins, as far as this pass has found. A new pass starts then. */
  @Column({ type: 'timestamptz', nullable: true })
  resumesAt: Date | null;

  @OneToOne(() => Course, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'course_id' })
  course: Relation<Course>;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
