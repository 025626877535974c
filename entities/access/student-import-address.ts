/**
 * The keyed hash of an e-mail address that a student lost while an import was open. The import uses this hash to recognize the address in a
 * row of its file.
 */
import { Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { StudentImport } from './student-import.ts';

@Entity('student_import_addresses')
@Index('student_import_addresses_student', ['studentId'])
export class StudentImportAddress {
  @PrimaryColumn({ type: 'uuid' })
  importId: string;

  /** The key is derived from the address with the master key. It does not reveal the address. */
  @PrimaryColumn({ type: 'bytea' })
  addressKey: Buffer;

  @PrimaryColumn({ type: 'uuid' })
  studentId: string;

  @ManyToOne(() => StudentImport, { onDelete: 'CASCADE' })
  import: Relation<StudentImport>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
