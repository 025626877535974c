/** Exports of students: a ready export, and an export of a student who is removed before the first step. */
import { requestExport } from '../../../domain/exports/students/exports.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import type { Scenarios } from '../recorder.ts';

async function begin(): Promise<{ id: Id; clubId: Id; studentId: Id }> {
  const { id: clubId } = await buildClub();
  const { id: studentId } = await buildStudent(clubId);
  const requester = { kind: 'student', id: studentId } as const;
  const { id } = await requestExport(await testDeps(), { clubId, studentId }, requester, new Date());
  return { id, clubId, studentId };
}

export const studentExportScenarios: Scenarios = {
  studentExport: {
    ready: async ({ by }) => by.signalWithStart('studentExport', await begin()),
    async 'student-removed'({ by }) {
      const { id, clubId, studentId } = await begin();
      await removeStudent(await testDeps(), clubId, studentId, new Date());
      return by.signalWithStart('studentExport', { id, clubId });
    },
  },
};
