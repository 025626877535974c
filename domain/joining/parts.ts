/** The answers of the context `joining` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { followAccessByTime } from './joining.ts';

export const joiningParts = {
  closeClub: null, // memberships follow the access of students, and end with their rows
  eraseStudent: null, // the context `community` removes the memberships of the student
  exportStudent: null, // the context `community` exports the memberships
  changeEmail: null,
  clubRows: [],
  retention: [
    {
      async run({ db }, now) {
        const { followed, more } = await followAccessByTime(db, now);
        return { rows: { membershipsFollowed: followed }, more };
      },
    },
  ],
} satisfies ContextQuestions;
