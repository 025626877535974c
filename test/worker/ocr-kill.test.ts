/** A worker is killed while its OCR program reads scanned pages (ADR 62). */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { sourceRow, textsOf } from '../toolkit/assert/sources.ts';
import { scannedPdf } from '../toolkit/builders/scanned-files.ts';
import { buildFileSource, type TestSource } from '../toolkit/builders/sources.ts';
import { wantAnew } from '../toolkit/drive/indexing.ts';
import { ocrCommand } from '../toolkit/drive/ocr.ts';
import { until } from '../toolkit/drive/until.ts';
import { useWorkerProcesses } from '../toolkit/stack/worker.ts';

const second = 1_000;

describe('the death of a worker during OCR', function () {
  this.timeout(180 * second);
  const startWorker = useWorkerProcesses('indexing');
  let directory: string;
  let work: string;
  let mark: string;
  let source: TestSource;
  const running = async () => {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')));
    return lines.filter((line) => line.includes(mark)).length;
  };
  const settings = (mode: string) => ({
    OCR_COMMAND: ocrCommand(mode).join(' '),
    MEDIA_WORK_DIRECTORY: work,
  });

  before('kill the worker during OCR', async function () {
    if (platform() !== 'linux') this.skip();
    directory = await mkdtemp(path.join(tmpdir(), 'ocr-kill-'));
    [work, mark] = [await mkdtemp(path.join(directory, 'work-')), path.join(directory, 'mark')];
    const worker = await startWorker(settings(`hang=${mark}`));
    source = await buildFileSource(await scannedPdf([2], 2));
    await wantAnew(source);
    await until('the run of the program', { timeoutMs: 60 * second }, async () => (await running()) >= 2);
    await worker.end('SIGKILL');
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('ends the OCR program and its child process', () =>
    until('their end', { timeoutMs: 10 * second }, async () => (await running()) === 0));

  it('leaves the work directory, but no passages', async () => {
    expect(await readdir(work)).to.have.length(1);
    expect(await sourceRow(source)).to.include({ status: 'indexing', attempts: 1 });
    expect(await textsOf(source)).to.deep.equal([]);
  });

  it('lets the next worker read the pages and remove the work directory', async () => {
    await startWorker(settings('read'));
    await until('its passages', { timeoutMs: 60 * second }, async () => (await sourceRow(source)).status === 'ready');
    expect((await textsOf(source))[1]).to.equal('The words of page 2 were read in eng.');
    expect(await readdir(work)).to.deep.equal([]);
  });
});
