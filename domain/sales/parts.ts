/** The answers of the context `sales` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { retainNotices } from './retention.ts';
import { claimNotices, purgeStudentFromSales } from './student-removal.ts';
import { exportSales } from './student-export.ts';

export const salesParts = {
  closeClub: null,
  eraseStudent: purgeStudentFromSales,
  exportStudent: exportSales,
  changeEmail: (tx, _vault, { clubId, studentId, before }) => claimNotices(tx, { clubId, studentId, email: before }),
  clubRows: [],
  retention: [{ run: ({ db }, now) => retainNotices(db, now) }],
} satisfies ContextQuestions;
