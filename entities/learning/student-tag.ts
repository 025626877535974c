/** A tag of a student. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { Tag } from './tag.ts';

@Entity('student_tags')
export class StudentTag {
  @PrimaryColumn({ type: 'uuid' })
  studentId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('student_tags_tag')
  tagId: string;

  @Column({ type: 'timestamptz' })
  taggedAt: Date;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => Tag)
  tag: Relation<Tag>;
}
