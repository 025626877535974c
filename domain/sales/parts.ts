/** The answers of the context `sales` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { closeSales } from './closing.ts';
import { retainNotices } from './retention.ts';
import { claimNotices, purgeStudentFromSales } from './student-removal.ts';

export const salesParts = {
  closeClub: closeSales,
  eraseStudent: purgeStudentFromSales,
  exportStudent: null,
  changeEmail: (tx, _vault, { clubId, studentId, before }) => claimNotices(tx, { clubId, studentId, email: before }),
  clubRows: [],
  retention: [{ run: ({ db }, now) => retainNotices(db, now) }],
} satisfies ContextQuestions;
