/** Bulk jobs: a job in batches, and a job that is canceled while it waits for an earlier job. */
import type { Id } from '../../../platform/core/ids.ts';
import { buildClub, type TestClub } from '../../toolkit/builders/clubs.ts';
import { buildManyStudents } from '../../toolkit/builders/many-students.ts';
import { beginBulk } from '../../toolkit/drive/bulk.ts';
import { callsOf } from '../../toolkit/drive/club-calls.ts';
import { until } from '../../toolkit/drive/until.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';
import type { Scenarios } from '../recorder.ts';

async function begin(club: TestClub, count: number): Promise<{ id: Id; clubId: Id }> {
  const students = await buildManyStudents(club.id, count);
  const request = { path: '/points/bulk-award', body: { points: 5 } };
  const id = await beginBulk(
    club,
    request,
    students.map((studentId) => ({ student_id: studentId })),
  );
  return { id, clubId: club.id };
}

export const bulkJobScenarios: Scenarios = {
  bulkJob: {
    'completed-in-three-batches': async ({ by }) => by.signalWithStart('bulkJob', await begin(await buildClub(), 120)),
    async 'canceled-before-its-turn'({ by }) {
      const club = await buildClub();
      await begin(club, 1); // has no run here, so it stays open
      const second = await begin(club, 1);
      const handle = await by.signalWithStart('bulkJob', second);
      const source = await testDatabase();
      await until('the wait for the earlier job', { timeoutMs: 10_000 }, async () => {
        const rows = await source.query<unknown[]>(
          `SELECT 1 FROM bulk_jobs WHERE id = $1 AND looks_at < created_at + interval '5 minutes'`,
          [second.id],
        );
        return rows.length > 0;
      });
      await callsOf(club)('POST', `/bulk-jobs/${second.id}/cancel`);
      await by.signalWithStart('bulkJob', second);
      return handle;
    },
  },
};
