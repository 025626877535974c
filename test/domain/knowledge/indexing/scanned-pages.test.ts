/** Tests how scanned pages are indexed, with a test program in place of a real OCR program (ADR 62). */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { ocrRules } from '../../../../domain/knowledge/indexing/ocr.policy.ts';
import type { OcrDeps, OcrOutcome } from '../../../../domain/knowledge/indexing/scanned-pages.ts';
import { createSinglePermit } from '../../../../platform/engine/single-permit.ts';
import { passagesOf, sourceRow } from '../../../toolkit/assert/sources.ts';
import { buildFileSource, type TestSource } from '../../../toolkit/builders/sources.ts';
import { scannedPdf } from '../../../toolkit/builders/scanned-files.ts';
import { alterSource, stepSource, wantAnew } from '../../../toolkit/drive/indexing.ts';
import { ocrCommand, ocrDeps } from '../../../toolkit/drive/ocr.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

describe('indexing of scanned pages', function () {
  this.timeout(120_000);
  let workDirectory: string;
  beforeEach(async () => {
    workDirectory = await mkdtemp(path.join(tmpdir(), 'ocr-test-'));
  });
  afterEach(async () => {
    expect(await readdir(workDirectory), 'left behind').to.deep.equal([]);
    await rm(workDirectory, { recursive: true });
  });

  const inFile = (page: number) => `The text of page ${page} stands in the file itself.`;
  const byOcr = (page: number, languages = 'eng') => `The words of page ${page} were read in ${languages}.`;
  const warned = (code: string, ...pages: number[]) => ({ code, count: pages.length, pages });
  const ready = (pages: number, passages: number) => ({ done: true, outcome: 'ready', pages, passages });

  const linesOf = async (source: TestSource) => {
    const passages = await passagesOf(source);
    return passages.map(({ page, text }) => [page, text] as const);
  };

  async function indexed(source: TestSource, mode: string, changed: Partial<OcrDeps> = {}, takesPages = true) {
    const outcomes: OcrOutcome[] = [];
    const ocr = ocrDeps(ocrCommand(mode, { takesPages }), {
      workDirectory,
      onOutcome: (one) => outcomes.push(one),
      ...changed,
    });
    const beats = new Set<string>();
    const step = await stepSource(source, { ocr }, { beat: (words) => void beats.add(words) });
    return { step, outcomes, row: await sourceRow(source), beats: [...beats] };
  }

  it('reads the pages, records that OCR read them, and keeps pages with text', async () => {
    const source = await buildFileSource(await scannedPdf([2, 4], 5));
    const { step, outcomes, row } = await indexed(source, 'read');
    expect([step, outcomes]).to.deep.equal([ready(5, 5), ['read']]);
    expect(await linesOf(source)).to.deep.equal([
      [1, inFile(1)],
      [2, byOcr(2)],
      [3, inFile(3)],
      [4, byOcr(4)],
      [5, inFile(5)],
    ]);
    expect(row.warnings).to.deep.equal([warned('read_by_ocr', 2, 4)]);
    expect(row.ocrDueAt).to.equal(null);
  });

  it('reads a file of pictures in the languages of the club and the deployment', async () => {
    const source = await buildFileSource(await scannedPdf([1, 2], 2));
    await (await testDatabase()).query(`UPDATE clubs SET language = 'pt' WHERE id = $1`, [source.clubId]);
    const { step } = await indexed(source, 'read', { furtherLanguages: 'eng' });
    expect(step).to.deep.equal(ready(2, 2));
    expect(await linesOf(source)).to.deep.equal([
      [1, byOcr(1, 'por+eng')],
      [2, byOcr(2, 'por+eng')],
    ]);
  });

  it('keeps scanned pages as pictures if no OCR exists, and tries again in an hour', async () => {
    const source = await buildFileSource(await scannedPdf([1], 1));
    const began = Date.now();
    expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'failed', error: 'no_text' });
    const row = await sourceRow(source);
    expect(row.warnings).to.deep.equal([warned('page_is_a_picture', 1)]);
    expect(row.ocrDueAt?.getTime()).to.be.within(began + ocrRules.againMs, Date.now() + ocrRules.againMs);
  });

  it('keeps pages without words as pictures, and does not try again', async () => {
    const source = await buildFileSource(await scannedPdf([2], 2));
    const { outcomes, row } = await indexed(source, 'no-words');
    expect(outcomes).to.deep.equal(['read']);
    expect(row).to.include({ status: 'ready', ocrDueAt: null });
    expect(row.warnings).to.deep.equal([warned('page_is_a_picture', 2)]);
  });

  const failures = [
    { mode: 'fail', what: 'ends with an exit code for a failure' },
    { mode: 'no-file', what: 'writes nothing' },
    { mode: 'no-pdf', what: 'writes no PDF' },
    { mode: 'other-pages', what: 'writes a wrong number of pages' },
    { mode: 'hoard', what: 'uses more memory than its limit' },
  ];
  for (const { mode, what } of failures)
    it(`keeps the first reading if the program ${what}, and does not try again`, async () => {
      const source = await buildFileSource(await scannedPdf([2], 2));
      const { step, outcomes, row } = await indexed(source, mode);
      expect([step, outcomes]).to.deep.equal([ready(2, 1), ['failed']]);
      expect(await linesOf(source)).to.deep.equal([[1, inFile(1)]]);
      expect(row.warnings).to.deep.equal([warned('page_is_a_picture', 2), warned('ocr_failed', 2)]);
      expect(row.ocrDueAt).to.equal(null);
    });

  it('keeps the first reading if the program writes a file that is too large', async () => {
    const source = await buildFileSource(await scannedPdf([2], 2));
    const { outcomes, row } = await indexed(source, 'read', { rules: { maxOutputBytes: 500 } });
    expect(outcomes).to.deep.equal(['failed']);
    expect(row.warnings).to.deep.equal([warned('page_is_a_picture', 2), warned('ocr_failed', 2)]);
  });

  it('ends a program that hangs, together with its child process', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'ocr-hang-'));
    const mark = path.join(directory, 'mark');
    const source = await buildFileSource(await scannedPdf([1], 1));
    const { step, outcomes, row } = await indexed(source, `hang=${mark}`, { rules: { runMs: 2_000 } });
    expect([step, outcomes]).to.deep.equal([{ done: true, outcome: 'failed', error: 'no_text' }, ['failed']]);
    expect(row.warnings).to.deep.equal([warned('page_is_a_picture', 1), warned('ocr_failed', 1)]);
    expect(await readFile(mark, 'utf8')).to.equal('begun');
    const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
    const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')));
    expect(lines.filter((line) => line.includes(mark))).to.deep.equal([]);
    await rm(directory, { recursive: true });
  });

  it('ends its step without using up a try if the worker stops during OCR', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'ocr-stop-'));
    const mark = path.join(directory, 'mark');
    const source = await buildFileSource(await scannedPdf([1], 1));
    const stop = new AbortController();
    const beat = (words: string) => {
      if (words.startsWith('OCR: 0 of')) stop.abort(new Error('The worker stops'));
    };
    const ocr = ocrDeps(ocrCommand(`hang=${mark}`), { workDirectory });
    const step = await stepSource(source, { ocr }, { beat, stop: stop.signal });
    expect(step).to.include({ done: false, attempt: 1 });
    expect(await sourceRow(source)).to.include({ status: 'pending', attempts: 0, leaseUntil: null });
    await rm(directory, { recursive: true });
  });

  it('passes a few pages at a time to the program, at most the first 100', async () => {
    const logged = path.join(workDirectory, 'log');
    const scanned = Array.from({ length: 9 }, (_, at) => at + 2);
    const source = await buildFileSource(await scannedPdf(scanned, 10));
    const rules = { pagesARun: 3, maxPages: 7 };
    const { row, outcomes } = await indexed(source, `log=${logged}`, { rules });
    expect((await readFile(logged, 'utf8')).trim().split('\n')).to.deep.equal(['eng 2-4', 'eng 5-7', 'eng 8']);
    expect(outcomes).to.deep.equal(['read']);
    expect(row.warnings).to.deep.equal([
      warned('page_is_a_picture', 9, 10),
      warned('read_by_ocr', 2, 3, 4, 5, 6, 7, 8),
      warned('ocr_failed', 9, 10),
    ]);
    await rm(logged);
    expect(ocrRules.maxPages).to.equal(100);
  });

  it('loses only the pages that the program reads together with a failed page', async () => {
    const source = await buildFileSource(await scannedPdf([1, 2, 3, 4], 4));
    const { row, outcomes } = await indexed(source, 'fail-on=2', { rules: { pagesARun: 2 } });
    expect(outcomes).to.deep.equal(['read']);
    expect(row.warnings).to.deep.equal([
      warned('page_is_a_picture', 1, 2),
      warned('read_by_ocr', 3, 4),
      warned('ocr_failed', 1, 2),
    ]);
  });

  it('passes the whole file once to a program that accepts no page numbers', async () => {
    const source = await buildFileSource(await scannedPdf([1, 2], 2));
    const { outcomes } = await indexed(source, 'no-words', { rules: { pagesARun: 1 } }, false);
    expect(outcomes).to.deep.equal(['read']);
  });

  it('starts no program if hardly any time remains', async () => {
    const source = await buildFileSource(await scannedPdf([1, 2], 2));
    const { row } = await indexed(source, 'read', { rules: { timeMs: ocrRules.leastMs - 1 } });
    expect(row.warnings).to.deep.equal([warned('page_is_a_picture', 1, 2), warned('ocr_failed', 1, 2)]);
  });

  const unavailable: { what: string; mode: string; changed?: Partial<OcrDeps> }[] = [
    { what: 'the program cannot read the trial page', mode: 'no-trial' },
    { what: 'the disk has no free space', mode: 'read', changed: { freeBytes: async () => 400_000_000 } },
  ];
  for (const { what, mode, changed } of unavailable)
    it(`is tried again in an hour if ${what}`, async () => {
      const source = await buildFileSource(await scannedPdf([2], 2));
      const { step, outcomes, row } = await indexed(source, mode, changed);
      expect([step, outcomes]).to.deep.equal([ready(2, 1), ['unavailable']]);
      expect(row.warnings).to.deep.equal([warned('page_is_a_picture', 2), warned('ocr_failed', 2)]);
      expect(row.ocrDueAt).to.be.instanceOf(Date);
      expect((await indexed(await again(source), 'read')).outcomes).to.deep.equal(['read']);
      const read = await sourceRow(source);
      expect(read.warnings).to.deep.equal([warned('read_by_ocr', 2)]);
      expect(read.ocrDueAt).to.equal(null);
    });

  it('does not start a third time if two workers died during the OCR', async () => {
    const source = await buildFileSource(await scannedPdf([2], 2));
    await alterSource(source, `attempts = 2`);
    const { step, outcomes, row } = await indexed(source, 'read');
    expect([step, outcomes]).to.deep.equal([ready(2, 1), ['failed']]);
    expect(row).to.include({ attempts: 3, ocrDueAt: null });
  });

  it('waits for a permit without using up a try', async () => {
    const permit = createSinglePermit();
    const release = permit.tryAcquire('another club');
    const source = await buildFileSource(await scannedPdf([1], 1));
    const first = await indexed(source, 'read', { permit });
    expect(first.step).to.include({ done: false, for: 'ocr', attempt: 1 });
    expect(first.row).to.include({ status: 'pending', attempts: 0, leaseUntil: null });
    expect(first.beats).to.deep.equal(['about to read']);
    await alterSource(source, `looks_at = now() - interval '1 second'`);
    const reads: string[] = [];
    const ocr = ocrDeps(ocrCommand('read'), { workDirectory, permit });
    const storage = { read: (key: string) => Promise.reject(new Error(`${reads.push(key)} reads`)) };
    expect(await stepSource(source, { ocr, storage })).to.include({ done: false, for: 'ocr' });
    expect(reads).to.deep.equal([]);
    release?.();
    await alterSource(source, `looks_at = now() - interval '1 second'`);
    expect((await indexed(source, 'read', { permit })).step).to.deep.equal(ready(1, 1));
    expect(permit.tryAcquire('another club')).to.be.a('function');
  });

  it('requests neither a permit nor the program for a file without scanned pages', async () => {
    const permit = createSinglePermit();
    permit.tryAcquire('another club');
    const source = await buildFileSource(await scannedPdf([], 2));
    const { step, outcomes } = await indexed(source, 'fail', { permit });
    expect([step, outcomes]).to.deep.equal([ready(2, 2), []]);
  });

  async function again(source: TestSource): Promise<TestSource> {
    await wantAnew(source);
    return source;
  }
});
