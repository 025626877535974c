/**
 * A request to wake the automation runs that watch a course, because lessons of the course were published or withdrawn. The runs are woken
 * page by page.
 */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('automation_course_looks')
export class AutomationCourseLook {
  @PrimaryColumn({ type: 'uuid' })
  courseId: string;

  /** The id of the last run that was woken. It is all zeros at the beginning. */
  @Column({ type: 'uuid' })
  afterId: string;

  @Column({ type: 'timestamptz' })
  @Index('automation_course_looks_changed')
  changedAt: Date;
}
