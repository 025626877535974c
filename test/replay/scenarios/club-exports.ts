/** Exports of clubs: an export that is erased by its owner, and an export that is canceled before its first step. */
import type { Id } from '../../../platform/core/ids.ts';
import { buildClub, buildStudent, type TestClub } from '../../toolkit/builders/clubs.ts';
import { beginClubExport, readClubExport } from '../../toolkit/drive/club-exports.ts';
import { callsOf } from '../../toolkit/drive/club-calls.ts';
import { until } from '../../toolkit/drive/until.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';
import type { Scenarios } from '../recorder.ts';

async function begin(club: TestClub): Promise<{ id: Id; clubId: Id }> {
  await buildStudent(club.id);
  return { id: await beginClubExport(club), clubId: club.id };
}

const erase = (club: TestClub, { id }: { id: Id }) => callsOf(club)('DELETE', `/exports/${id}`);

/** The objects are erased once more an hour later. The scenario does not wait for this hour. */
async function hurry({ id }: { id: Id }): Promise<void> {
  const source = await testDatabase();
  await until('the first erasure', { timeoutMs: 60_000 }, async () => {
    const [, changed] = await source.query<[unknown, number]>(
      `UPDATE club_exports SET looks_at = created_at WHERE id = $1 AND progress->'erased' = 'true' AND looks_at > created_at`,
      [id],
    );
    return changed > 0;
  });
}

export const clubExportScenarios: Scenarios = {
  clubExport: {
    async 'erased-by-its-owner'({ by }) {
      const club = await buildClub();
      const subject = await begin(club);
      const handle = await by.signalWithStart('clubExport', subject);
      await until('the archive', { timeoutMs: 60_000 }, async () => {
        return (await readClubExport(club, subject.id)).status === 'ready';
      });
      await erase(club, subject);
      await by.signalWithStart('clubExport', subject);
      await hurry(subject);
      await by.signalWithStart('clubExport', subject);
      return handle;
    },
    async 'canceled-before-its-first-step'({ by }) {
      const club = await buildClub();
      const subject = await begin(club);
      await erase(club, subject);
      const handle = await by.signalWithStart('clubExport', subject);
      await hurry(subject);
      await by.signalWithStart('clubExport', subject);
      return handle;
    },
  },
};
