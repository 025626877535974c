import { expect } from 'chai';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { studentsOf } from '../toolkit/assert/students.ts';
import { buildAccessDelivery } from '../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { readImport, reportOf, storedOf, upload } from '../toolkit/drive/imports.ts';
import { until } from '../toolkit/drive/until.ts';
import { useTemporal, useWorkerProcesses } from '../toolkit/stack/worker.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const second = 1_000;
const rows = 1_200;

/** Three workers are killed during the first batch of one import. A fourth completes it. */
describe('an import after three workers were killed', function () {
  this.timeout(30 * second);
  const startWorker = useWorkerProcesses('imports');
  const temporal = useTemporal();
  const places = ['batch_read', 'batch_written', 'batch_recorded'] as const;
  const statesAfterKill = new Map<string, { signal: NodeJS.Signals | null; rows: number; status: string }>();
  let club: TestClub;
  let importId: string;
  let deliveryId: string;

  before('kill three workers, and start a fourth', async function () {
    this.timeout(240 * second);
    club = await buildClub();
    deliveryId = (await buildAccessDelivery(club.id)).id;
    for (const place of places) {
      // Temporal gives the step to the next worker after 10 s without a heartbeat.
      const worker = await startWorker({ FAILPOINT: place });
      importId ??= await uploadRows();
      const { signal } = await worker.exited;
      const { rows_done: done, status } = await readImport(club, importId);
      statesAfterKill.set(place, { signal, rows: done, status });
    }
    await startWorker();
    await until('the import', { timeoutMs: 60 * second }, async () => {
      const { status } = await readImport(club, importId);
      return status === 'completed' && (await storedOf(club)).length === 0;
    });
  });

  async function uploadRows(): Promise<string> {
    const lines = Array.from({ length: rows }, (_, at) => `k${at}@example.com,K ${at}\n`).join('');
    return (await upload(club, `email,name\n${lines}`, `delivery_ids=${deliveryId}`)).body.data.id;
  }

  it('keeps no row of an uncommitted batch, and all 500 rows of a committed batch', () => {
    expect(Object.fromEntries(statesAfterKill)).to.deep.equal({
      batch_read: { signal: 'SIGKILL', rows: 0, status: 'pending' },
      batch_written: { signal: 'SIGKILL', rows: 0, status: 'pending' },
      batch_recorded: { signal: 'SIGKILL', rows: 500, status: 'running' },
    });
  });

  it('handles each row once', async () => {
    expect(await readImport(club, importId)).to.include({ created: rows, existing: 0, failed: 0 });
    const students = await studentsOf(club);
    expect([students.length, (await reportOf(club, importId)).length]).to.deep.equal([rows, rows]);
    await eachCase(students, ({ deliveries }) => expect(deliveries).to.deep.equal([deliveryId]));
    const source = await testDatabase();
    const [counted] = await source.query<{ enrollments: number }[]>(
      `SELECT count(*)::int AS enrollments FROM enrollments WHERE club_id = $1`,
      [club.id],
    );
    expect(counted).to.deep.equal({ enrollments: rows });
  });

  it('ends its workflow run as completed', async () => {
    const run = temporal().workflow.getHandle(workflowIdOf('studentImport', importId));
    expect(await run.result()).to.equal('completed');
  });
});
