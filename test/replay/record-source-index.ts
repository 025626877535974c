/** Records the histories of `source-index/<id>`: `npm exec mocha test/replay/record-source-index.ts`; the rules are those of record.ts. */
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { sourceIndexActivities } from '../../activities/source-index.ts';
import { readConfig } from '../../config.ts';
import type { IndexingPlatform } from '../../domain/agents/indexing/source-step.ts';
import { sourceWake } from '../../domain/agents/sources.ts';
import { workflowIdOf } from '../../domain/facts/workflow-names.policy.ts';
import { createWorkflowClient } from '../../worker/workflow-client.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { book } from '../toolkit/builders/office-files.ts';
import { buildFileSource, buildLessonSource, type TestSource } from '../toolkit/builders/sources.ts';
import { changeLesson, indexingPlatform } from '../toolkit/drive/indexing.ts';
import { commitHistory, isCommitted, recorder } from '../toolkit/drive/replay.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

describe('recording histories of sources', function () {
  this.timeout(60_000);
  let connection: NativeConnection;
  let namespace: string;
  let worker: { stop(): Promise<void> };
  /** What happens when the next source is read out. */
  let meanwhile: () => Promise<void> = async () => {};

  before('start a worker', async () => {
    await testStack();
    ({ namespace } = readConfig().temporal);
    connection = await NativeConnection.connect({ address: readConfig().temporal.address });
    const failpoint: IndexingPlatform['failpoint'] = async (name) => {
      if (name !== 'source_read') return;
      const happens = meanwhile;
      meanwhile = async () => {};
      await happens();
    };
    const activities = sourceIndexActivities(await indexingPlatform({ failpoint }));
    worker = await runWorkerHere(connection, { taskQueue: 'indexing', identity: recorder, namespace, activities });
  });
  after('stop the worker', async () => {
    await worker.stop();
    await connection.close();
  });

  const record = (scenario: string, prepare: () => Promise<TestSource>) =>
    it(`sourceIndex/${scenario}`, async function () {
      if (isCommitted('sourceIndex', scenario)) return this.skip();
      const { id, clubId } = await prepare();
      const client = createWorkflowClient(connection, namespace);
      await client.signalWithStart({ ...sourceWake(clubId, id), clubId });
      const handle = new Client({ connection, namespace }).workflow.getHandle(workflowIdOf('sourceIndex', id));
      await handle.result();
      commitHistory('sourceIndex', scenario, await handle.fetchHistory());
    });

  record('ready', async () => buildFileSource(await book(300)));
  record('failed', () => buildFileSource('%PDF-1.7 and no more'));
  record('fault-then-ready', () => {
    meanwhile = () => Promise.reject(new Error('a fault of ours'));
    return buildLessonSource('A bowline holds.');
  });
  record('changed-meanwhile', async () => {
    const source = await buildLessonSource('A bowline holds.');
    meanwhile = () => changeLesson(source, 'A clove hitch slips.');
    return source;
  });
  record('gone-meanwhile', async () => {
    const source = await buildLessonSource('A bowline holds.');
    meanwhile = async () => {
      await (await testDatabase()).query(`DELETE FROM agent_sources WHERE id = $1`, [source.id]);
    };
    return source;
  });
});
