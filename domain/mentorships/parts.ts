/** The answers of the context `mentorships` to the questions that concern every context (domain/questions.ts). */
import { Mentorship } from '../../entities/mentorships/mentorship.ts';
import { MentorshipDelivery } from '../../entities/mentorships/mentorship-delivery.ts';
import { MentorshipSession } from '../../entities/mentorships/mentorship-session.ts';
import type { ContextQuestions } from '../questions.ts';
import { endMentoring } from './mentor-leaving.ts';
import { purgeStudentFromMentorships } from './student-removal.ts';
import { exportMentorships } from './student-export.ts';

export const mentorshipsParts = {
  closeClub: null, // a session mails only through the context `mail`, and ends with its row
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromMentorships(tx, studentId, now),
  exportStudent: exportMentorships,
  changeEmail: null, // each mail goes to the current address of the student at the time of sending
  clubRows: [
    { of: Mentorship, by: 'club' },
    { of: MentorshipDelivery, by: { parent: Mentorship, column: 'mentorshipId' } },
    { of: MentorshipSession, by: 'club' },
  ],
  retention: [],
  async endMembership(tx, { isRemoved, ...member }, now) {
    if (!isRemoved) await endMentoring(tx, member, now);
  },
} satisfies ContextQuestions;
