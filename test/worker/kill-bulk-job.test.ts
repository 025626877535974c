import { expect } from 'chai';
import { bulkRules } from '../../domain/bulk/bulk.policy.ts';
import type { Id } from '../../platform/core/ids.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildManyStudents } from '../toolkit/builders/many-students.ts';
import { beginBulk, bulkReportOf, readBulk } from '../toolkit/drive/bulk.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { useTemporal, useWorkerProcesses } from '../toolkit/stack/worker.ts';

const second = 1_000;
const rows = 120;

/** Two workers are killed in the first batch of an award. A third completes the job. */
describe('a bulk job after two workers were killed', function () {
  this.timeout(30 * second);
  const startWorker = useWorkerProcesses('imports');
  const temporal = useTemporal();
  const places = ['bulk_batch_written', 'bulk_batch_recorded'] as const;
  const statesAfterKill = new Map<string, { signal: NodeJS.Signals | null; rows: number; status: string }>();
  let club: TestClub;
  let jobId: Id;

  before('kill two workers, and start a third', async function () {
    this.timeout(240 * second);
    club = await buildClub();
    const students = await buildManyStudents(club.id, rows);
    for (const place of places) {
      // Temporal gives the step to the next worker after 10 s without a heartbeat.
      const worker = await startWorker({ FAILPOINT: place });
      jobId ??= await beginBulk(
        club,
        { path: '/points/bulk-award', body: { points: 7 } },
        students.map((id) => ({ student_id: id })),
      );
      const { signal } = await worker.exited;
      const { rows_done: done, status } = await readBulk(club, jobId);
      statesAfterKill.set(place, { signal, rows: done, status });
    }
    await startWorker();
    await until('the bulk job', { timeoutMs: 60 * second }, async () => {
      return (await readBulk(club, jobId)).status === 'completed';
    });
  });

  it('keeps no row of an uncommitted batch, and all rows of a committed batch', () => {
    expect(Object.fromEntries(statesAfterKill)).to.deep.equal({
      bulk_batch_written: { signal: 'SIGKILL', rows: 0, status: 'pending' },
      bulk_batch_recorded: { signal: 'SIGKILL', rows: bulkRules.batchRows, status: 'running' },
    });
  });

  it('gives each student the points once', async () => {
    expect(await readBulk(club, jobId)).to.include({ applied: rows, unchanged: 0, failed: 0 });
    expect(await bulkReportOf(club, jobId, '&outcome=applied')).to.have.length(rows);
    const source = await testDatabase();
    const counted = await source.query<object[]>(
      `SELECT count(*)::int AS students, min(points)::int AS least, max(points)::int AS most,
              (SELECT count(*)::int FROM point_awards award JOIN students owner ON owner.id = award.student_id WHERE owner.club_id = $1) AS awards
         FROM students WHERE club_id = $1`,
      [club.id],
    );
    expect(counted).to.deep.equal([{ students: rows, least: 7, most: 7, awards: rows }]);
  });

  it('is completed by its workflow', async () => {
    const run = temporal().workflow.getHandle(workflowIdOf('bulkJob', jobId));
    expect(await run.result()).to.equal('completed');
  });
});
