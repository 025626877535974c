/**
 * A student's completion of a lesson. The row stays after the first completion, so that the completion causes its event and its points only
 * once.
 */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { Lesson } from './lesson.ts';

@Entity('lesson_progress')
@Index('lesson_progress_completed', ['lessonId', 'studentId'], { where: 'completed' })
export class LessonProgress {
  @PrimaryColumn({ type: 'uuid' })
  studentId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('lesson_progress_lesson')
  lessonId: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'timestamptz' })
  firstCompletedAt: Date;

  /** Whether the lesson is completed now. It is false after the student has undone the completion. */
  @Column({ type: 'boolean' })
  completed: boolean;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Lesson, { onDelete: 'CASCADE' })
  lesson: Relation<Lesson>;
}
