import { activities as all } from '../../activities/index.ts';
import { readConfig } from '../../config.ts';
import type { ProcessingDeps } from '../../domain/media/processing/step.ts';
import { runOf, workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { newId } from '../../platform/core/ids.ts';
import { createWorkflowClient, type WorkflowClient } from '../../worker/workflow-client.ts';
import { keptOf, summariesOf } from '../toolkit/assert/histories.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { mediaState, uploadBytes } from '../toolkit/drive/erasure.ts';
import { sayingArrived, type TestFile } from '../toolkit/drive/media.ts';
import { processingDeps } from '../toolkit/drive/processing.ts';
import { runWorkerHere, useTemporal } from '../toolkit/stack/worker.ts';
import { NativeConnection } from '@temporalio/worker';
import { expect } from 'chai';

const second = 1_000;

describe('media-processing, on the real server', function () {
  this.timeout(60 * second);
  const temporal = useTemporal();
  let connection: NativeConnection;
  let client: WorkflowClient;
  let worker: { stop(): Promise<void> };
  let club: TestClub;
  /** What happens when the next file is at this point. */
  let meanwhile: Partial<Record<Parameters<ProcessingDeps['failpoint']>[0], () => Promise<void>>> = {};

  before('start the worker', async () => {
    const { address, namespace } = readConfig().temporal;
    connection = await NativeConnection.connect({ address });
    client = createWorkflowClient(connection, namespace);
    const failpoint: ProcessingDeps['failpoint'] = async (name) => {
      const happens = meanwhile[name];
      delete meanwhile[name];
      await happens?.();
    };
    const activities = all.mediaProcessing({ media: await processingDeps({ failpoint }) });
    worker = await runWorkerHere(connection, { taskQueue: 'media', namespace, activities });
    club = await buildClub();
  });
  after('stop the worker', async () => {
    await worker.stop();
    await connection.close();
  });

  const secret = `Quixotic ${newId()}`;
  const notes: TestFile = { fileName: `${secret}.md`, mime: 'text/markdown', bytes: Buffer.from(`# ${secret}\n`) };
  async function started(file: TestFile) {
    const { media } = await uploadBytes({ club }, file);
    await sayingArrived({ club }, media.id);
    await client.startOrSignal(runOf('mediaProcessing', { id: media.id, clubId: club.id }));
    return { id: media.id, handle: temporal().workflow.getHandle(workflowIdOf('mediaProcessing', media.id)) };
  }

  it('ends as ready or failed, says why, and puts no name or word of the file into Temporal', async () => {
    const outcomes: unknown[] = [];
    for (const file of [notes, { ...notes, mime: 'application/pdf' }]) {
      const { id, handle } = await started(file);
      const outcome = await handle.result();
      const { currentDetails } = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
      outcomes.push([outcome, currentDetails, await mediaState(id)]);
      expect(await keptOf(handle)).to.not.include('Quixotic');
    }
    expect(outcomes).to.deep.equal([
      ['ready', 'ready', 'ready key'],
      ['failed', 'failed: content_not_allowed', 'failed content_not_allowed key due'],
    ]);
  });

  it('waits in a named timer after a fault of ours, and goes on', async () => {
    meanwhile['file_identified'] = () => Promise.reject(new Error('a fault of ours'));
    const { handle } = await started(notes);
    expect(await handle.result()).to.equal('ready');
    const { timers } = await summariesOf(handle);
    expect(timers[0]).to.match(/^another try (at once|in about 1 s), after 1 fault\(s\) of ours$/);
  });
});
