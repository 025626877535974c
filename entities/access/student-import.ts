/** An uploaded file of students, with the progress and the results of its import. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { endedImportStatuses, importStatuses, type ImportError, type ImportStatus, type FileFormat } from './values.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('student_imports')
@Check('student_imports_status', oneOf('status', importStatuses))
@Check('student_imports_ended', `(completed_at IS NOT NULL) = (${oneOf('status', endedImportStatuses)})`)
@Check('student_imports_error', `(error IS NOT NULL) = (status = 'failed')`)
@Index('student_imports_club', ['clubId', 'createdAt', 'id'])
@Index('student_imports_turn', ['clubId', 'createdAt', 'id'], { where: `status IN ('pending', 'running')` })
@Index('student_imports_looks_at', ['looksAt'], { where: 'looks_at IS NOT NULL' })
export class StudentImport {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  status: ImportStatus;

  @Column({ type: 'text', nullable: true })
  fileName: string | null;

  @Column({ type: 'uuid', array: true })
  deliveryIds: string[];

  @Column({ type: 'boolean' })
  invite: boolean;

  /** The format of the rows, from the header line. */
  @Column({ type: 'jsonb' })
  format: FileFormat;

  /** The columns of the file that the import does not use, because it does not know their names. */
  @Column({ type: 'text', array: true })
  ignoredColumns: string[];

  /** In bytes. Null until the file has arrived. */
  @Column({ type: 'integer', nullable: true })
  fileBytes: number | null;

  /** The number of rows. It is estimated from the line breaks of the file, and is exact after the import is completed. */
  @Column({ type: 'integer', nullable: true })
  rowsTotal: number | null;

  /** The position of the next row in the file, in bytes. Each batch records the new position. */
  @Column({ type: 'integer' })
  cursor: number;

  /** The number of the next row. The header line is row 1. */
  @Column({ type: 'integer' })
  nextRow: number;

  @Column({ type: 'integer', default: 0 })
  createdCount: number;

  @Column({ type: 'integer', default: 0 })
  existingCount: number;

  @Column({ type: 'integer', default: 0 })
  failedCount: number;

  @Column({ type: 'text', nullable: true })
  error: ImportError | null;

  /**
   * The time by which the import's workflow must check the import again. Null if no work remains. The removal of the file counts as work,
   * too.
   */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  startedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  completedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
