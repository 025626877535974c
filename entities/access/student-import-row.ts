/** The outcome of one row of an imported file. It names the student only by id and has no text of the file. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { rowOutcomes, type ImportColumn, type RowCode, type RowOutcome } from './values.ts';
import { StudentImport } from './student-import.ts';
import { oneOf } from '../one-of.ts';

@Entity('student_import_rows')
@Check('student_import_rows_outcomes', oneOf('outcome', rowOutcomes))
@Check('student_import_rows_code', `(outcome = 'failed') = (code IS NOT NULL)`)
@Check('student_import_rows_who', `(outcome = 'failed') = (student_id IS NULL)`)
@Index('student_import_rows_outcome', ['importId', 'outcome', 'row'])
@Index('student_import_rows_student', ['importId', 'studentId'], { unique: true, where: 'student_id IS NOT NULL' })
export class StudentImportRow {
  @PrimaryColumn({ type: 'uuid' })
  importId: string;

  /** The number of the row, counted as in a spreadsheet: the header line is row 1, and empty lines count, too. */
  @PrimaryColumn({ type: 'integer' })
  row: number;

  @Column({ type: 'text' })
  outcome: RowOutcome;

  @Column({ type: 'text', nullable: true })
  code: RowCode | null;

  /** The column of the file to which the error code refers. */
  @Column({ type: 'text', nullable: true })
  columnName: ImportColumn | null;

  @Column({ type: 'uuid', nullable: true })
  studentId: string | null;

  @ManyToOne(() => StudentImport, { onDelete: 'CASCADE' })
  import: Relation<StudentImport>;
}
