/** The answers of the context `exports` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { removeExportsOf, retainExports } from './students/removal.ts';
import { exportExports } from './students/student-export.ts';

export const exportsParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }, now) => removeExportsOf(tx, studentId, now),
  exportStudent: exportExports,
  changeEmail: null,
  clubRows: [],
  retention: [{ run: ({ db }, now) => retainExports(db, now) }],
} satisfies ContextQuestions;
