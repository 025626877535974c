/** Points that a student got or lost for one cause. The cause is a lesson or an administrator's decision. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { awardKinds, type AwardKind } from './values.ts';
import { Student } from '../identity/student.ts';
import { oneOf } from '../one-of.ts';

@Entity('point_awards')
@Check('point_awards_kind', oneOf('cause_kind', awardKinds))
@Check('point_awards_points', 'points <> 0')
@Index('point_awards_student', ['studentId', 'createdAt', 'causeId'])
export class PointAward {
  @PrimaryColumn({ type: 'uuid' })
  studentId: string;

  @PrimaryColumn({ type: 'text' })
  causeKind: AwardKind;

  /**
   * The id of the award's cause: the id of a lesson, or an id that the administrator's client chose. A student gets at most one award for
   * each kind and id.
   */
  @PrimaryColumn({ type: 'uuid' })
  causeId: string;

  @Column({ type: 'integer' })
  points: number;

  @Column({ type: 'text', nullable: true })
  note: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
