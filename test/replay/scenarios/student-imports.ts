/** Scenarios: an import of students in several batches, and an import with an interrupted upload. */
import { importRules } from '../../../domain/access/imports/imports.policy.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { upload } from '../../toolkit/drive/imports.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';
import type { Scenarios } from '../recorder.ts';

async function uploaded(file: string): Promise<{ id: string; clubId: string }> {
  const club = await buildClub();
  return { id: (await upload(club, file)).body.data.id, clubId: club.id };
}

export const studentImportScenarios: Scenarios = {
  studentImport: {
    async 'completed-in-three-batches'({ by }) {
      const rows = Array.from({ length: 1_100 }, (_, at) => `recorded-${at}@example.com,Student ${at}\n`);
      return by.signalWithStart('studentImport', await uploaded(`email,name\n${rows.join('')}`));
    },
    async 'upload-interrupted'({ by }) {
      const subject = await uploaded('email,name\nnobody@example.com,Nobody\n');
      const source = await testDatabase();
      await source.query(
        `UPDATE student_imports SET status = 'uploading', file_bytes = NULL, created_at = $2 WHERE id = $1`,
        [subject.id, new Date(Date.now() - importRules.uploadMs + 3_000)],
      );
      return by.signalWithStart('studentImport', subject);
    },
  },
};
