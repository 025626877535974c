/** A student's comment on a lesson. The comment is deleted when its author is removed. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { Lesson } from './lesson.ts';

@Entity('lesson_comments')
@Index('lesson_comments_lesson', ['lessonId', 'createdAt', 'id'])
export class LessonComment {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  lessonId: string;

  @Column({ type: 'uuid' })
  @Index('lesson_comments_student')
  studentId: string;

  @Column({ type: 'text' })
  body: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => Lesson, { onDelete: 'CASCADE' })
  lesson: Relation<Lesson>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
