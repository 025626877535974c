/** The answers of the context `campaigns` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { purgeStudentFromCampaigns } from './recipients.ts';
import { retainRecipients } from './retention.ts';
import { exportCampaigns } from './student-export.ts';

export const campaignsParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }) => purgeStudentFromCampaigns(tx, studentId), // this also erases mails of automations and digests
  exportStudent: exportCampaigns,
  changeEmail: null, // a mail uses the address that the student has when it is claimed
  clubRows: [],
  retention: [{ run: ({ db }, now) => retainRecipients(db, now) }],
} satisfies ContextQuestions;
