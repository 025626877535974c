/** What a student has completed of a lesson. The first completion stays, so that it raises its event and is rewarded once. */
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

  /** Whether it counts now: an undo takes it back. */
  @Column({ type: 'boolean' })
  completed: boolean;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Lesson, { onDelete: 'CASCADE' })
  lesson: Relation<Lesson>;
}
