/** The answers of the context `community` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { retainDigests } from './digests/retention.ts';
import { retainModeration } from './moderation.ts';
import { purgeStudentFromCommunity } from './student-removal.ts';
import { exportCommunity } from './student-export.ts';

export const communityParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromCommunity(tx, studentId, now),
  exportStudent: exportCommunity,
  changeEmail: null,
  clubRows: [],
  retention: [{ run: ({ db }, now) => retainModeration(db, now) }, { run: ({ db }, now) => retainDigests(db, now) }],
} satisfies ContextQuestions;
