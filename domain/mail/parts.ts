/** The answers of the context `mail` to the questions that concern every context (domain/questions.ts). */
import { ClubBulkDay } from '../../entities/mail/club-bulk-day.ts';
import { ClubMailDay } from '../../entities/mail/club-mail-day.ts';
import { ClubMailText } from '../../entities/mail/club-mail-text.ts';
import { Invitation } from '../../entities/clubs/invitation.ts';
import { Mail } from '../../entities/mail/mail.ts';
import { MailClick } from '../../entities/mail/mail-click.ts';
import { MailDomain } from '../../entities/mail/mail-domain.ts';
import { MailLink } from '../../entities/mail/mail-link.ts';
import { MailSender } from '../../entities/mail/mail-sender.ts';
import { MailSoftBounce } from '../../entities/mail/mail-soft-bounce.ts';
import { MailSuppression } from '../../entities/mail/mail-suppression.ts';
import { OneTimeToken } from '../../entities/mail/one-time-token.ts';
import { Student } from '../../entities/identity/student.ts';
import { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import type { ContextQuestions } from '../questions.ts';
import { deleteCodeFailures } from './codes/codes.ts';
import { removeExpiredTokens, withdrawTokensOf } from './codes/one-time-tokens.ts';
import { cancelMailsOfMember, eraseMailsOfAdministrator } from './transactional/administrator-erasure.ts';
import { deleteAddressesOf } from './transactional/requests.ts';
import { removeExpiredReceipts } from './notices/receipts.ts';
import { retainMailEvents } from './retention.ts';
import { exportMail } from './student-export.ts';

export const mailParts = {
  closeClub: null, // a mail of a closed club is canceled when a worker claims it
  async eraseStudent(tx, student) {
    await withdrawTokensOf(tx, student);
    await deleteAddressesOf(tx, student);
    await deleteCodeFailures(tx, student);
  },
  exportStudent: exportMail,
  changeEmail: (tx, _vault, { studentId }) => withdrawTokensOf(tx, { studentId }),
  clubRows: [
    { of: ClubBulkDay, by: 'club' },
    { of: ClubMailDay, by: 'club' },
    { of: ClubMailText, by: 'club' },
    { of: Mail, by: { parent: Student, column: 'studentId' } },
    { of: MailClick, by: { parent: Mail, column: 'mailId' } },
    { of: MailDomain, by: 'club' },
    { of: MailLink, by: 'club' },
    { of: MailSender, by: 'club' },
    { of: MailSoftBounce, by: { parent: Mail, column: 'mailId' } },
    { of: MailSuppression, by: 'club' },
    { of: OneTimeToken, by: { parent: Student, column: 'studentId' } },
    { of: OneTimeToken, by: { parent: Invitation, column: 'invitationId' } },
    { of: TransactionalMail, by: 'club' },
  ],
  retention: [
    { run: ({ db }, now) => retainMailEvents(db, now) },
    { run: ({ db }, now) => removeExpiredTokens(db, now) },
    { run: ({ db }, now) => removeExpiredReceipts(db, now) },
  ],
  endMembership: (tx, member) => cancelMailsOfMember(tx, member),
  async eraseAdministrator(tx, administrator) {
    await withdrawTokensOf(tx, { administratorId: administrator.administratorId });
    await eraseMailsOfAdministrator(tx, administrator);
  },
} satisfies ContextQuestions;
