/** Records the histories of `student-import/<id>`: `npm exec mocha test/replay/record-student-import.ts`; the rules are those of record.ts. */
import { NativeConnection } from '@temporalio/worker';
import { Client } from '@temporalio/client';
import { studentImportActivities } from '../../activities/student-import.ts';
import { readConfig } from '../../config.ts';
import { importRules } from '../../domain/access/import.policy.ts';
import type { Id } from '../../domain/core/ids.ts';
import { workflowIdOf } from '../../domain/facts/workflow-names.policy.ts';
import { createWorkflowClient } from '../../worker/workflow-client.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { importPlatform, upload } from '../toolkit/drive/imports.ts';
import { commitHistory, isCommitted, recorder } from '../toolkit/drive/replay.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

describe('recording histories of imports', function () {
  this.timeout(60_000);
  let connection: NativeConnection;
  let namespace: string;
  let worker: { stop(): Promise<void> };
  let club: TestClub;

  before('start a worker', async () => {
    await testStack();
    ({ namespace } = readConfig().temporal);
    connection = await NativeConnection.connect({ address: readConfig().temporal.address });
    const activities = studentImportActivities(await importPlatform());
    worker = await runWorkerHere(connection, { taskQueue: 'imports', identity: recorder, namespace, activities });
    club = await buildClub();
  });
  after('stop the worker', async () => {
    await worker.stop();
    await connection.close();
  });

  const record = (scenario: string, prepare: () => Promise<Id>) =>
    it(`studentImport/${scenario}`, async function () {
      if (isCommitted('studentImport', scenario)) return this.skip();
      const subjectId = await prepare();
      const run = {
        workflowType: 'studentImport',
        subjectId,
        clubId: club.id,
        attributes: { ClubId: club.id },
      } as const;
      await createWorkflowClient(connection, namespace).signalWithStart(run);
      const { workflow } = new Client({ connection, namespace });
      const handle = workflow.getHandle(workflowIdOf('studentImport', subjectId));
      await handle.result();
      commitHistory('studentImport', scenario, await handle.fetchHistory());
    });

  record('completed-in-three-batches', async () => {
    const rows = Array.from({ length: 1_100 }, (_, at) => `recorded-${at}@example.com,Student ${at}\n`);
    return (await upload(club, `email,name\n${rows.join('')}`)).body.data.id;
  });

  record('upload-interrupted', async () => {
    const { id } = (await upload(club, 'email,name\nnobody@example.com,Nobody\n')).body.data;
    const createdAt = new Date(Date.now() - importRules.uploadMs + 3_000);
    await (
      await testDatabase()
    ).query(`UPDATE student_imports SET status = 'uploading', file_bytes = NULL, created_at = $2 WHERE id = $1`, [
      id,
      createdAt,
    ]);
    return id;
  });
});
