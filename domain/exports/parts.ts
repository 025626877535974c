/** The answers of the context `exports` to the questions that concern every context (domain/questions.ts). */
import { ClubExport } from '../../entities/exports/club-export.ts';
import type { ContextQuestions } from '../questions.ts';
import { eraseStudentFromExports } from './clubs/exports.ts';
import { retainExports } from './clubs/retention.ts';

export const exportsParts = {
  closeClub: null, // the step of an export ends when its row is gone
  eraseStudent: (tx, { clubId }, now) => eraseStudentFromExports(tx, clubId, now),
  exportStudent: null, // an export of the club is no data about a student
  changeEmail: null, // an archive shows the club at one time
  clubRows: [{ of: ClubExport, by: 'club' }],
  retention: [{ run: ({ db, storage }, now) => retainExports({ db, storage }, now), waitsForOthers: true }],
} satisfies ContextQuestions;
