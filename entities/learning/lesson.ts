/**
 * A lesson of a course. Students see the lesson after it was published. The row of a removed lesson stays, because events refer to the
 * lesson.
 */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Course } from './course.ts';
import { Module } from './module.ts';

@Entity('lessons')
@Index('lessons_club_public_id', ['clubId', 'publicId'], { unique: true })
@Index('lessons_course', ['courseId'])
@Index('lessons_module', ['moduleId', 'position', 'id'])
export class Lesson {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  courseId: string;

  /** The module of the lesson. Null after the lesson was removed. */
  @Column({ type: 'uuid', nullable: true })
  moduleId: string | null;

  /** The name of the lesson in addresses of the classroom, unique in the club. */
  @Column({ type: 'text' })
  publicId: string;

  @Column({ type: 'text' })
  title: string;

  /** Markdown. */
  @Column({ type: 'text', default: '' })
  content: string;

  /** The position of the lesson in the module, from 0. */
  @Column({ type: 'integer' })
  position: number;

  /** The points that a student gets for the first completion of the lesson. */
  @Column({ type: 'integer', default: 0 })
  points: number;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  publishedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  removedAt: Date | null;

  @ManyToOne(() => Course, { onDelete: 'CASCADE' })
  course: Relation<Course>;

  @ManyToOne(() => Module, { onDelete: 'SET NULL' })
  module: Relation<Module>;
}
