/** The answers of the context `bulk` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { eraseStudentFromJobs, retainJobs } from './retention.ts';
import { exportBulk } from './student-export.ts';

export const bulkParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }) => eraseStudentFromJobs(tx, studentId),
  exportStudent: exportBulk,
  changeEmail: null, // a job stores no addresses
  clubRows: [],
  retention: [{ run: ({ db }, now) => retainJobs(db, now) }],
} satisfies ContextQuestions;
