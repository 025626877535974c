/** A level that a student has reached. A level counts as reached only once, even if the student's points fall and rise again. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { Level } from './level.ts';

@Entity('student_levels')
export class StudentLevel {
  @PrimaryColumn({ type: 'uuid' })
  studentId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('student_levels_level')
  levelId: string;

  @Column({ type: 'timestamptz' })
  reachedAt: Date;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Level)
  level: Relation<Level>;
}
