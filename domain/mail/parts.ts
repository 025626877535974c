/** The answers of the context `mail` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { deleteCodeFailures } from './codes/codes.ts';
import { removeExpiredTokens, withdrawTokensOf } from './codes/one-time-tokens.ts';
import { deleteAddressesOf } from './transactional/requests.ts';
import { removeExpiredReceipts } from './notices/receipts.ts';
import { retainMailEvents } from './retention.ts';
import { exportMail } from './student-export.ts';

export const mailParts = {
  closeClub: null,
  async eraseStudent(tx, student) {
    await withdrawTokensOf(tx, student);
    await deleteAddressesOf(tx, student);
    await deleteCodeFailures(tx, student);
  },
  exportStudent: exportMail,
  changeEmail: (tx, _vault, { studentId }) => withdrawTokensOf(tx, { studentId }),
  clubRows: [],
  retention: [
    { run: ({ db }, now) => retainMailEvents(db, now) },
    { run: ({ db }, now) => removeExpiredTokens(db, now) },
    { run: ({ db }, now) => removeExpiredReceipts(db, now) },
  ],
} satisfies ContextQuestions;
