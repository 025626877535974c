import { Context } from '@temporalio/activity';
import { activities as all } from '../../activities/index.ts';
import { readConfig } from '../../config.ts';
import type { ProcessingDeps } from '../../domain/media/processing/step.ts';
import { runOf, workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { newId } from '../../platform/core/ids.ts';
import { slots } from '../../worker/temporal/task-queues.ts';
import { createWorkflowClient, type WorkflowClient } from '../../worker/temporal/workflow-client.ts';
import { keptOf, summariesOf } from '../toolkit/assert/histories.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { mediaState, uploadBytes } from '../toolkit/drive/erasure.ts';
import { sayingArrived, type TestFile } from '../toolkit/drive/media.ts';
import { processingDeps } from '../toolkit/drive/processing.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { until } from '../toolkit/drive/until.ts';
import { runWorkerHere, useTemporal } from '../toolkit/stack/worker.ts';
import { NativeConnection } from '@temporalio/worker';
import { expect } from 'chai';

const second = 1_000;

describe('the run of media processing', function () {
  this.timeout(60 * second);
  const temporal = useTemporal();
  let connection: NativeConnection;
  let client: WorkflowClient;
  let worker: { stop(): Promise<void> };
  let club: TestClub;
  /** Run when the next file reaches the failpoint of this name. */
  let meanwhile: Partial<Record<Parameters<ProcessingDeps['failpoint']>[0], () => Promise<void>>> = {};

  /** Called with the club of each claimed file. */
  let whenClaimed: (clubId: string | undefined) => Promise<void> = async () => {};

  before('start the worker', async () => {
    const { address, namespace } = readConfig().temporal;
    connection = await NativeConnection.connect({ address });
    client = createWorkflowClient(connection, namespace);
    const failpoint: ProcessingDeps['failpoint'] = async (name) => {
      if (name === 'file_claimed') await whenClaimed(Context.current().info.priority?.fairnessKey);
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
  async function started(file: TestFile, owner = club) {
    const { media } = await uploadBytes({ club: owner }, file);
    await sayingArrived({ club: owner }, media.id);
    await client.startOrSignal(runOf('mediaProcessing', { id: media.id, clubId: owner.id }));
    return { id: media.id, handle: temporal().workflow.getHandle(workflowIdOf('mediaProcessing', media.id)) };
  }

  it('ends as ready, or as failed with a reason, and stores no text in Temporal', async () => {
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

  it('waits in a named timer after an internal fault, and then continues', async () => {
    meanwhile['file_identified'] = () => Promise.reject(new Error('a fault of ours'));
    const { handle } = await started(notes);
    expect(await handle.result()).to.equal('ready');
    const { timers } = await summariesOf(handle);
    expect(timers[0]).to.match(/^another try (at once|in about 1 s), after 1 fault\(s\) of ours$/);
  });

  /** Unclaimed files that are due after this time. */
  async function putOffAfter(then: Date, files: readonly { id: string }[]): Promise<string[]> {
    const rows: { id: string }[] = await (
      await testDatabase()
    ).query('SELECT id FROM media WHERE id = ANY ($1) AND fence = 0 AND looks_at > $2', [
      files.map(({ id }) => id),
      then,
    ]);
    return rows.map(({ id }) => id);
  }

  it('begins a file of a second club while another club uses its share (ENG-20)', async () => {
    const share = slots.media.activities / 2;
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    let startedFiles = 0;
    whenClaimed = async (clubId) => {
      if (clubId !== club.id) return;
      startedFiles += 1;
      await isReleased;
    };
    let [files, putOff]: [Awaited<ReturnType<typeof started>>[], string[]] = [[], []];
    try {
      files = await Promise.all(Array.from({ length: share + 2 }, () => started(notes)));
      const since = new Date();
      putOff = await until('Files that are put off', { timeoutMs: 20 * second }, async () => {
        const ids = await putOffAfter(since, files);
        return startedFiles === share && ids.length === 2 && ids;
      });
      expect(startedFiles, 'files of the club that have begun').to.equal(share);
      const other = await started(notes, await buildClub());
      expect(await other.handle.result()).to.equal('ready');
      expect(startedFiles, "files of the club that have begun beside the other club's").to.equal(share);
    } finally {
      release(); // otherwise the worker would not stop
    }
    expect(new Set(await Promise.all(files.map(({ handle }) => handle.result())))).to.deep.equal(new Set(['ready']));
    const late = files.find(({ id }) => putOff.includes(id));
    const { timers } = await summariesOf(late?.handle ?? expect.fail('No file was put off'));
    expect(timers[0]).to.match(/^a permit beside other work of its club (at once|in about \d+ s)$/);
  });
});
