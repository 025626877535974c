/** The answers of the context `bulk` to the questions that concern every context (domain/questions.ts). */
import { BulkJob } from '../../entities/bulk/bulk-job.ts';
import { BulkJobRow } from '../../entities/bulk/bulk-job-row.ts';
import type { ContextQuestions } from '../questions.ts';
import { closeBulkJobs } from './closing.ts';
import { eraseStudentFromJobs, retainJobs } from './retention.ts';
import { exportBulk } from './student-export.ts';

export const bulkParts = {
  closeClub: closeBulkJobs,
  eraseStudent: (tx, { studentId }) => eraseStudentFromJobs(tx, studentId),
  exportStudent: exportBulk,
  changeEmail: null, // a job stores no addresses
  clubRows: [
    { of: BulkJob, by: 'club' },
    { of: BulkJobRow, by: { parent: BulkJob, column: 'jobId' } },
  ],
  retention: [{ run: ({ db }, now) => retainJobs(db, now) }],
} satisfies ContextQuestions;
