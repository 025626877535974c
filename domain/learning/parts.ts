/** The answers of the context `learning` to the questions that concern every context (domain/questions.ts). */
import { folding, type ContextQuestions } from '../questions.ts';
import { moveCertificatesTo } from './certificates/certificates.ts';
import { eraseDueFiles } from './certificates/files.ts';
import { purgeStudentFromLearning } from './student-removal.ts';
import { exportLearning } from './student-export.ts';

export const learningParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromLearning(tx, studentId, now),
  exportStudent: exportLearning,
  changeEmail: (tx, _vault, { studentId, after }) => moveCertificatesTo(tx, studentId, after),
  clubRows: [],
  retention: [
    folding('certificates', ['student_name']),
    {
      async run(deps, now) {
        const { erased, more } = await eraseDueFiles(deps, now);
        return { rows: { certificateFilesErased: erased }, more };
      },
      waitsForOthers: true,
    },
  ],
} satisfies ContextQuestions;
