/** The answers of the context `identity` to the questions that concern every context (domain/questions.ts). */
import { folding, type ContextQuestions } from '../questions.ts';
import { fillEmailKeys } from './accounts/email-keys.ts';
import { forgetNetwork } from './accounts/pending-sign-ups.ts';
import { removeOldKeys } from './api-keys/api-keys.ts';
import { removeExpiredChallenges } from './factors/challenges.ts';
import { removeUnconfirmedFactors } from './factors/factors.ts';
import { removeOldPhoneCodes } from './phones/codes.ts';
import { removeExpiredLinks, voidLinksOf } from './sessions/session-links.ts';
import { removeSpentChallenges } from './passkeys/challenges.ts';
import { forgetPasskeys } from './passkeys/student-passkeys.ts';
import { removeExpiredJoins } from './providers/joins.ts';
import { removeSpentSignIns } from './providers/sign-in-tokens.ts';
import { endSessionsOf, removeEndedSessions } from './sessions/sessions.ts';
import { exportIdentity } from './student-export.ts';

export const identityParts = {
  closeClub: null,
  async eraseStudent(tx, { studentId }) {
    await endSessionsOf(tx, 'student', studentId);
    await voidLinksOf(tx, studentId);
    await forgetNetwork(tx, studentId);
    await forgetPasskeys(tx, studentId);
  },
  exportStudent: exportIdentity,
  async changeEmail(tx, _vault, { studentId }) {
    await endSessionsOf(tx, 'student', studentId);
    await voidLinksOf(tx, studentId);
    await forgetPasskeys(tx, studentId);
  },
  clubRows: [],
  retention: [
    { run: ({ db }, now) => removeEndedSessions(db, now) },
    { run: ({ db }, now) => removeSpentSignIns(db, now) },
    { run: ({ db }, now) => removeExpiredJoins(db, now) },
    { run: ({ db }, now) => removeExpiredChallenges(db, now) },
    { run: ({ db }, now) => removeUnconfirmedFactors(db, now) },
    { run: ({ db }, now) => removeExpiredLinks(db, now) },
    { run: ({ db }, now) => removeOldKeys(db, now) },
    { run: ({ db }, now) => removeOldPhoneCodes(db, now) },
    { run: ({ db }, now) => removeSpentChallenges(db, now) },
    {
      async run(deps) {
        const { filled, more } = await fillEmailKeys(deps);
        return { rows: { emailKeysFilled: filled }, more };
      },
    },
    folding('students', ['name']),
  ],
} satisfies ContextQuestions;
