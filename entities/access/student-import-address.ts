/** An address that a student left behind while an import was open: a key of it, by which the import knows the row again. */
import { Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { StudentImport } from './student-import.ts';

@Entity('student_import_addresses')
export class StudentImportAddress {
  @PrimaryColumn({ type: 'uuid' })
  importId: string;

  /** Derived from the address with the master key; says nothing of it. */
  @PrimaryColumn({ type: 'bytea' })
  addressKey: Buffer;

  @PrimaryColumn({ type: 'uuid' })
  studentId: string;

  @ManyToOne(() => StudentImport, { onDelete: 'CASCADE' })
  import: Relation<StudentImport>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
