/** Later dates of an assignment for one student. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { Assignment } from './assignment.ts';

@Entity('assignment_extensions')
@Check('assignment_extensions_moves_something', 'num_nonnulls(due_at, closes_at) > 0')
export class AssignmentExtension {
  @PrimaryColumn({ type: 'uuid' })
  assignmentId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('assignment_extensions_student')
  studentId: string;

  @Column({ type: 'timestamptz', nullable: true })
  dueAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  closesAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Assignment, { onDelete: 'CASCADE' })
  assignment: Relation<Assignment>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
