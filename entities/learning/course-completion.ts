/** A student's completion of a course. It is recorded once and is permanent. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { Course } from './course.ts';

@Entity('course_completions')
export class CourseCompletion {
  @PrimaryColumn({ type: 'uuid' })
  studentId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('course_completions_course')
  courseId: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'timestamptz' })
  completedAt: Date;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Course, { onDelete: 'CASCADE' })
  course: Relation<Course>;
}
