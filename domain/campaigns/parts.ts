/** The answers of the context `campaigns` to the questions that concern every context (domain/questions.ts). */
import { Campaign } from '../../entities/campaigns/campaign.ts';
import { TestMail } from '../../entities/campaigns/test-mail.ts';
import type { ContextQuestions } from '../questions.ts';
import { closeCampaigns } from './closing.ts';
import { purgeStudentFromCampaigns } from './recipients.ts';
import { retainRecipients } from './retention.ts';
import { exportCampaigns } from './student-export.ts';

export const campaignsParts = {
  closeClub: closeCampaigns,
  eraseStudent: (tx, { studentId }) => purgeStudentFromCampaigns(tx, studentId), // this also erases mails of automations and digests
  exportStudent: exportCampaigns,
  changeEmail: null, // a mail uses the address that the student has when it is claimed
  clubRows: [
    { of: Campaign, by: 'club' },
    { of: TestMail, by: 'club' },
  ],
  retention: [{ run: ({ db }, now) => retainRecipients(db, now) }],
} satisfies ContextQuestions;
