/** A waiting run with a condition that depends on the number of lessons in a course. */
import { Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AutomationRun } from './automation-run.ts';

@Entity('automation_course_watches')
export class AutomationCourseWatch {
  @PrimaryColumn({ type: 'uuid' })
  courseId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('automation_course_watches_run')
  runId: string;

  @ManyToOne(() => AutomationRun, { onDelete: 'CASCADE' })
  run: Relation<AutomationRun>;
}
