/** The answers of the context `media` to the questions that concern every context (domain/questions.ts). */
import { folding, type ContextQuestions } from '../questions.ts';
import { eraseDue, purgeStudentFromMedia } from './erasure/erasure.ts';
import { eraseLeftovers } from './erasure/leftovers.ts';
import { followVideoHosting } from './erasure/expiry.ts';
import { processOldFiles } from './processing/old-files.ts';
import { rollUpStorage } from './storage/storage.ts';
import { exportMedia } from './student-export.ts';

export const mediaParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromMedia(tx, studentId, now),
  exportStudent: exportMedia,
  changeEmail: null,
  clubRows: [],
  retention: [
    {
      async run({ db }, now) {
        const { changed, more } = await followVideoHosting(db, now);
        return { rows: { expiriesChanged: changed }, more };
      },
    },
    {
      async run({ db }) {
        const { changes, more } = await rollUpStorage(db);
        return { rows: { storageChanges: changes }, more };
      },
    },
    folding('media', ['title', 'file_name']),
    {
      async run({ db }, now) {
        return { rows: { mediaProcessedLate: await processOldFiles(db, now) }, more: false };
      },
    },
    {
      async run(deps, now) {
        const { erased, refused, more } = await eraseDue(deps, now);
        return { rows: { mediaErased: erased, mediaRefused: refused }, more };
      },
      waitsForOthers: true,
    },
    {
      async run(deps, now) {
        const { erased, refused, more } = await eraseLeftovers(deps, now);
        return { rows: { leftoversErased: erased, leftoversRefused: refused }, more };
      },
      waitsForOthers: true,
    },
  ],
} satisfies ContextQuestions;
