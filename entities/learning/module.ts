/** A part of a course that holds lessons. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Course } from './course.ts';

@Entity('modules')
@Index('modules_course', ['courseId', 'position', 'id'])
export class Module {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  courseId: string;

  @Column({ type: 'text' })
  title: string;

  /** The position of the module in the course, from 0. */
  @Column({ type: 'integer' })
  position: number;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => Course, { onDelete: 'CASCADE' })
  course: Relation<Course>;
}
