/** A block of a lesson in which students hand in work. After the block is removed, the row stays, because submissions need it (ASG-5). */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Lesson } from '../learning/lesson.ts';

@Entity('assignments')
@Check('assignments_max_files', 'max_files BETWEEN 0 AND 10')
@Check('assignments_takes_something', 'takes_text OR max_files > 0')
@Check('assignments_dates', 'due_at <= closes_at')
@Index('assignments_lesson', ['lessonId', 'position', 'id'])
@Index('assignments_club', ['clubId'])
export class Assignment {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  lessonId: string;

  /** The label that distinguishes the block from other blocks of its lesson. Null if the block has no label. */
  @Column({ type: 'text', nullable: true })
  blockLabel: string | null;

  /** Markdown. */
  @Column({ type: 'text' })
  prompt: string;

  /** From 0. */
  @Column({ type: 'integer' })
  position: number;

  /** The deadline. If a student first sends the work after this time, the work is late. */
  @Column({ type: 'timestamptz', nullable: true })
  dueAt: Date | null;

  /** The time from which work is no longer accepted. */
  @Column({ type: 'timestamptz', nullable: true })
  closesAt: Date | null;

  @Column({ type: 'boolean' })
  takesText: boolean;

  @Column({ type: 'smallint' })
  maxFiles: number;

  /** Whether the lesson can be completed only after the work was approved. */
  @Column({ type: 'boolean' })
  required: boolean;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  removedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Lesson, { onDelete: 'CASCADE' })
  lesson: Relation<Lesson>;
}
