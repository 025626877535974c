/** The answers of the context `bulk` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { closeBulkJobs } from './closing.ts';
import { eraseStudentFromJobs, retainJobs } from './retention.ts';

export const bulkParts = {
  closeClub: closeBulkJobs,
  eraseStudent: (tx, { studentId }) => eraseStudentFromJobs(tx, studentId),
  exportStudent: null,
  changeEmail: null, // a job stores no addresses
  clubRows: [],
  retention: [{ run: ({ db }, now) => retainJobs(db, now) }],
} satisfies ContextQuestions;
