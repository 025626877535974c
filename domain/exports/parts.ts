/** The answers of the context `exports` to the questions that concern every context (domain/questions.ts). */
import { ClubExport } from '../../entities/exports/club-export.ts';
import { StudentExport } from '../../entities/exports/student-export.ts';
import type { ContextQuestions } from '../questions.ts';
import { eraseStudentFromExports } from './clubs/exports.ts';
import { retainExports as retainClubExports } from './clubs/retention.ts';
import { removeExportsOf, retainExports as retainStudentExports } from './students/removal.ts';
import { exportExports } from './students/student-export.ts';

export const exportsParts = {
  closeClub: null, // the step of an export ends when its row is gone
  async eraseStudent(tx, { clubId, studentId }, now) {
    await removeExportsOf(tx, studentId, now);
    await eraseStudentFromExports(tx, clubId, now);
  },
  exportStudent: exportExports,
  changeEmail: null, // an archive shows the club at one time
  clubRows: [
    { of: ClubExport, by: 'club' },
    { of: StudentExport, by: 'club' },
  ],
  retention: [
    { run: ({ db }, now) => retainStudentExports(db, now) },
    { run: ({ db, storage }, now) => retainClubExports({ db, storage }, now), waitsForOthers: true },
  ],
} satisfies ContextQuestions;
