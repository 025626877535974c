/** The answers of the context `identity` to the questions that concern every context (domain/questions.ts). */
import { AdministratorIdentity } from '../../entities/identity/administrator-identity.ts';
import { AdministratorSession } from '../../entities/identity/administrator-session.ts';
import { ApiKey } from '../../entities/identity/api-key.ts';
import { IdentityJoin } from '../../entities/identity/identity-join.ts';
import { IdentityProvider } from '../../entities/identity/identity-provider.ts';
import { Passkey } from '../../entities/identity/passkey.ts';
import { SessionLink } from '../../entities/identity/session-link.ts';
import { SignInChallenge } from '../../entities/identity/sign-in-challenge.ts';
import { SignUpNetwork } from '../../entities/identity/sign-up-network.ts';
import { Student } from '../../entities/identity/student.ts';
import { StudentSession } from '../../entities/identity/student-session.ts';
import { OneTimeToken } from '../../entities/mail/one-time-token.ts';
import { folding, type ContextQuestions } from '../questions.ts';
import { closeIdentity } from './closing.ts';
import { endAccessThroughClub, eraseAccount } from './accounts/administrator-erasure.ts';
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
  closeClub: closeIdentity,
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
  clubRows: [
    { of: AdministratorIdentity, by: { parent: IdentityProvider, column: 'clubProviderId' } },
    { of: AdministratorSession, by: 'scan' },
    { of: ApiKey, by: 'club' },
    { of: IdentityJoin, by: { parent: IdentityProvider, column: 'clubProviderId' } },
    { of: IdentityProvider, by: 'club' },
    { of: OneTimeToken, by: { parent: IdentityJoin, column: 'identityJoinId' } },
    { of: Passkey, by: 'club' },
    { of: SessionLink, by: { parent: Student, column: 'studentId' } },
    { of: SignInChallenge, by: 'scan' },
    { of: SignUpNetwork, by: 'club' },
    { of: Student, by: 'club' },
    { of: StudentSession, by: { parent: Student, column: 'studentId' } },
  ],
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
  endMembership: (tx, member) => endAccessThroughClub(tx, member),
  eraseAdministrator: (tx, administrator) => eraseAccount(tx, administrator),
} satisfies ContextQuestions;
