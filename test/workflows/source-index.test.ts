import { activities as all } from '../../activities/index.ts';
import { readConfig } from '../../config.ts';
import type { IndexingDeps } from '../../domain/knowledge/indexing/source-step.ts';
import { runOf, workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { createWorkflowClient, type WorkflowClient } from '../../worker/temporal/workflow-client.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { keptOf, summariesOf } from '../toolkit/assert/histories.ts';
import { sourceRow, textsOf } from '../toolkit/assert/sources.ts';
import { book } from '../toolkit/builders/office-files.ts';
import { buildFileSource, buildLessonSource, type TestSource } from '../toolkit/builders/sources.ts';
import { changeLesson, indexingDeps } from '../toolkit/drive/indexing.ts';
import { scannedPdf } from '../toolkit/builders/scanned-files.ts';
import { ocrCommand, ocrDeps } from '../toolkit/drive/ocr.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { runWorkerHere, useTemporal } from '../toolkit/stack/worker.ts';
import type { WorkflowHandle } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { expect } from 'chai';

const second = 1_000;

describe('the workflow that indexes a source', function () {
  this.timeout(60 * second);
  const temporal = useTemporal();
  let connection: NativeConnection;
  let client: WorkflowClient;
  let worker: { stop(): Promise<void> };
  const ocr = ocrDeps(ocrCommand('read'));
  /** Run when the next source reaches the failpoint of this name. */
  let meanwhile: Partial<Record<Parameters<IndexingDeps['failpoint']>[0], () => Promise<void>>> = {};

  before('start the worker', async () => {
    const { address, namespace } = readConfig().temporal;
    connection = await NativeConnection.connect({ address });
    client = createWorkflowClient(connection, namespace);
    const failpoint: IndexingDeps['failpoint'] = async (name) => {
      const happens = meanwhile[name];
      delete meanwhile[name];
      await happens?.();
    };
    const activities = all.sourceIndex({ sources: await indexingDeps({ failpoint, ocr }) });
    worker = await runWorkerHere(connection, { taskQueue: 'indexing', namespace, activities });
  });
  after('stop the worker', async () => {
    await worker.stop();
    await connection.close();
  });
  beforeEach(() => {
    meanwhile = {};
  });

  const handleOf = ({ id }: TestSource): WorkflowHandle =>
    temporal().workflow.getHandle(workflowIdOf('sourceIndex', id));
  const wake = ({ id, clubId }: TestSource) => client.signalWithStart(runOf('sourceIndex', { id, clubId }));
  const detailsOf = async (handle: WorkflowHandle) =>
    (await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata')).currentDetails;

  it('indexes a file, and reports the numbers of pages and passages', async () => {
    const source = await buildFileSource(await book(20));
    await wake(source);
    expect(await handleOf(source).result()).to.equal('ready');
    const { passageCount } = await sourceRow(source);
    expect(await detailsOf(handleOf(source))).to.equal(`ready: 20 pages, ${passageCount} passages`);
  });

  it('waits in a timer for an OCR permit, and the timer’s name says so', async () => {
    const release = ocr.permit.tryAcquire('another club');
    const source = await buildFileSource(await scannedPdf([1], 1));
    await wake(source);
    await until('its wait', { timeoutMs: 30 * second }, async () => (await sourceRow(source)).ocrDueAt !== null);
    release?.();
    expect(await handleOf(source).result()).to.equal('ready');
    expect((await summariesOf(handleOf(source))).timers[0]).to.match(/^a permit for OCR; it asks in about \d+ s$/);
  });

  it('reports which page it reads', async () => {
    const source = await buildFileSource(await book(20));
    let continueRun: () => void = () => {};
    meanwhile['source_read'] = () => new Promise((resolve) => (continueRun = resolve));
    await wake(source);
    const heartbeat = await until('a heartbeat of its last page', { timeoutMs: 30 * second }, async () => {
      const { raw } = await handleOf(source).describe();
      const [payload] = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
      const words = payload?.data ? Buffer.from(payload.data).toString() : '';
      return words.includes('page') && words;
    });
    expect(heartbeat).to.equal('"page 20 of 20"');
    expect(await detailsOf(handleOf(source))).to.equal('Indexing: the pending activity says how far it is');
    continueRun();
    expect(await handleOf(source).result()).to.equal('ready');
  });

  it('fails with an error code if the file is unreadable', async () => {
    const source = await buildFileSource('%PDF-1.7 and no more');
    await wake(source);
    expect(await handleOf(source).result()).to.equal('failed');
    expect(await detailsOf(handleOf(source))).to.equal('failed: file_corrupt');
  });

  it('indexes the new text if a lesson changes during the indexing', async () => {
    const source = await buildLessonSource('Old.');
    meanwhile['source_read'] = () => changeLesson(source, 'New.');
    await wake(source);
    expect(await handleOf(source).result()).to.equal('ready');
    expect(await textsOf(source)).to.deep.equal(['New.']);
    expect(await sourceRow(source)).to.include({ status: 'ready', indexedVersion: 2, wantedVersion: 2 });
  });

  it('ends with the outcome `gone` if the source is deleted during the indexing', async () => {
    const source = await buildLessonSource('Text.');
    meanwhile['source_claimed'] = async () => {
      await (await testDatabase()).query(`DELETE FROM agent_sources WHERE id = $1`, [source.id]);
    };
    await wake(source);
    expect(await handleOf(source).result()).to.equal('gone');
  });

  it('names the next attempt in the timer after an internal error', async () => {
    const source = await buildLessonSource('Text.');
    meanwhile['source_read'] = () => Promise.reject(new Error('a fault of ours'));
    await wake(source);
    await until('the wait', { timeoutMs: 20 * second }, async () => (await sourceRow(source)).status === 'pending');
    await wake(source);
    expect(await handleOf(source).result()).to.equal('ready');
    expect(await sourceRow(source)).to.include({ attempts: 2, fence: 2 });
    const { timers } = await summariesOf(handleOf(source));
    // The wait is 4 to 5 s, and less of it remains on a busy machine.
    expect(timers[0]).to.match(/^attempt 2 in about [1-5] s$/);
  });

  it('stores only opaque ids and numbers in Temporal: no title, file name or text', async () => {
    const sources = [
      await buildLessonSource('Quixotic words.'),
      await buildFileSource('Quixotic words.'),
      await buildFileSource('%PDF-1.7 Quixotic'),
    ];
    for (const source of sources) await wake(source);
    await eachCase(sources, async (source) => {
      await handleOf(source).result();
      const storedText = await keptOf(handleOf(source));
      expect(storedText).to.contain(source.id).and.to.contain('the indexing of a lesson or a file');
      await eachCase(['Quixotic', 'Knots for all', 'The handbook', 'handbook', `media/${source.clubId}`], (secret) =>
        expect(storedText).not.to.contain(secret),
      );
    });
  });
});
