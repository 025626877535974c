/** An item of an agent's material, named by administrators: a course (its published lessons), a lesson or a file. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Course } from '../learning/course.ts';
import { Lesson } from '../learning/lesson.ts';
import { Media } from '../media/media.ts';
import { Agent } from './agent.ts';

@Entity('agent_materials')
@Check('agent_materials_one', 'num_nonnulls(course_id, lesson_id, media_id) = 1')
@Index('agent_materials_course', ['courseId', 'agentId'], { unique: true })
@Index('agent_materials_lesson', ['lessonId', 'agentId'], { unique: true })
@Index('agent_materials_media', ['mediaId', 'agentId'], { unique: true })
export class AgentMaterial {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  @Index('agent_materials_agent')
  agentId: string;

  @Column({ type: 'uuid', nullable: true })
  courseId: string | null;

  @Column({ type: 'uuid', nullable: true })
  lessonId: string | null;

  @Column({ type: 'uuid', nullable: true })
  mediaId: string | null;

  @ManyToOne(() => Agent, { onDelete: 'CASCADE' })
  agent: Relation<Agent>;

  @ManyToOne(() => Course, { onDelete: 'CASCADE' })
  course: Relation<Course>;

  @ManyToOne(() => Lesson, { onDelete: 'CASCADE' })
  lesson: Relation<Lesson>;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  media: Relation<Media>;
}
