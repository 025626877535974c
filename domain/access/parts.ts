/** The answers of the context `access` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { hideEnrollmentsOf } from './enrollments/enrollments.ts';
import { forgetAddressesLate, forgetFilesThatName, noteAddressLeft } from './imports/removals.ts';
import { exportAccess } from './student-export.ts';

export const accessParts = {
  closeClub: null,
  async eraseStudent(tx, { clubId, studentId }, now) {
    await hideEnrollmentsOf(tx, studentId, now);
    await forgetFilesThatName(tx, { clubId, studentId });
  },
  exportStudent: exportAccess,
  changeEmail: (tx, vault, { clubId, studentId, before }) =>
    noteAddressLeft(tx, vault, { clubId, studentId, email: before }),
  clubRows: [],
  retention: [
    {
      async run({ db }) {
        return { rows: { importsForgotten: await forgetAddressesLate(db) }, more: false };
      },
    },
  ],
} satisfies ContextQuestions;
