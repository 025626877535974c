/** Points that a student was given or that were taken, by one cause: a lesson, or an administrator's hand. */
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

  /** The lesson, or what the administrator's client chose: with student and kind, it makes an award happen once. */
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
