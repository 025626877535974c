import { expect } from 'chai';
import { workflowIdOf } from '../../domain/facts/workflow-names.policy.ts';
import { studentsOf } from '../toolkit/assert/students.ts';
import { buildAccessDelivery } from '../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { readImport, reportOf, storedOf, upload, type ImportRecord } from '../toolkit/drive/imports.ts';
import { until } from '../toolkit/drive/until.ts';
import { useTemporal, useWorkerProcesses } from '../toolkit/stack/worker.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const second = 1_000;
const rows = 1_200;

interface Scene {
  club: TestClub;
  importId: string;
  deliveryId: string;
  /** What the killed worker has left behind. */
  left: ImportRecord;
  signal: NodeJS.Signals | null;
}

/** Three workers are killed one after the other, each in the first batch of its own import; a fourth finds what they left. */
describe('a worker is killed in the middle of an import', function () {
  this.timeout(30 * second);
  const startWorker = useWorkerProcesses();
  const temporal = useTemporal();
  const places = ['batch_read', 'batch_written', 'batch_recorded'] as const;
  const scenes = new Map<string, Scene>();

  before('three are killed, and a fourth takes over', async function () {
    this.timeout(240 * second);
    for (const place of places) scenes.set(place, await killedAt(place));
    await startWorker();
    for (const { club, importId } of scenes.values()) {
      // Temporal gives the step to another worker when its heartbeats have been missing for 10 s.
      await until('the import', { timeoutMs: 30 * second }, async () => {
        const { status } = await readImport(club, importId);
        return status === 'completed' && (await storedOf(club)).length === 0;
      });
    }
  });

  async function killedAt(place: string): Promise<Scene> {
    const worker = await startWorker({ FAILPOINT: place });
    const club = await buildClub();
    const { id: deliveryId } = await buildAccessDelivery(club.id);
    const lines = Array.from({ length: rows }, (_, at) => `k${at}@example.com,K ${at}\n`).join('');
    const importId: string = (await upload(club, `email,name\n${lines}`, `delivery_ids=${deliveryId}`)).body.data.id;
    const { signal } = await worker.exited;
    return { club, importId, deliveryId, signal, left: await readImport(club, importId) };
  }

  for (const place of places) {
    const done = place === 'batch_recorded' ? 500 : 0;
    it(`at ${place}: keeps ${done} rows, and another worker does each of the others once`, async () => {
      const scene = scenes.get(place);
      if (!scene) throw new Error('It was not played.');
      const { club, importId, deliveryId, left, signal } = scene;
      expect([signal, left.rows_done, left.status]).to.deep.equal(['SIGKILL', done, done > 0 ? 'running' : 'pending']);
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
      const run = temporal().workflow.getHandle(workflowIdOf('studentImport', importId));
      expect(await run.result()).to.equal('completed');
    });
  }
});
