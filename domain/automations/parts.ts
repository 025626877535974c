/** The answers of the context `automations` to the questions that concern every context (domain/questions.ts). */
import { rollingUp, type ContextQuestions } from '../questions.ts';
import { settleLeftMails } from './running/left-mails.ts';
import { forgetOldPaths, purgeStudentFromAutomations } from './student-removal.ts';
import { rollUpSteps } from './tallies.ts';
import { wakeWatchersOfCourses } from '../watches/watches.ts';
import { exportAutomations } from './student-export.ts';

export const automationsParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromAutomations(tx, studentId, now),
  exportStudent: exportAutomations,
  changeEmail: null, // a mail uses the address that the student has when it is claimed
  clubRows: [],
  retention: [
    rollingUp('automationStepChanges', rollUpSteps),
    { run: ({ db }, now) => forgetOldPaths(db, now) },
    { run: ({ db }) => settleLeftMails(db) },
    {
      async run({ db }, now) {
        const { woken, more } = await wakeWatchersOfCourses(db, now);
        return { rows: { courseWatchersWoken: woken }, more };
      },
    },
  ],
} satisfies ContextQuestions;
