/** The answers of the context `erasures` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { removeOldMarkers } from './markers.ts';

export const erasuresParts = {
  closeClub: null,
  eraseStudent: null, // an erasure has ids and counts only
  exportStudent: null,
  changeEmail: null,
  clubRows: [], // the row of an erasure outlives its club
  retention: [
    {
      run: ({ storage }, now) => removeOldMarkers(storage, now),
      waitsForOthers: true,
    },
  ],
} as const satisfies ContextQuestions;
