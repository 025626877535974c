/**
 * Reads scanned pages with ocrmypdf (on the PATH, or at OCRMYPDF_BINARY) and tesseract with the languages `eng` and `por`. The tests are
 * skipped if the machine lacks these programs, which no npm package contains.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { PDFiumLibrary } from '@hyzyla/pdfium';
import sharp from 'sharp';
import { ocrProgramAt } from '../../../../platform/infra/programs/ocr-program.ts';
import { passagesOf, sourceRow } from '../../../toolkit/assert/sources.ts';
import { pdfOf } from '../../../toolkit/builders/office-files.ts';
import { buildFileSource } from '../../../toolkit/builders/sources.ts';
import { stepSource } from '../../../toolkit/drive/indexing.ts';
import { ocrDeps } from '../../../toolkit/drive/ocr.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import type { Language } from '../../../../entities/clubs/values.ts';

/** 200 dots per inch, grey, slightly rotated and blurred. */
async function scanOf(lines: readonly string[]): Promise<Buffer> {
  const page = await pdfOf(1, (pdf) => {
    pdf.fontSize(13);
    for (const line of lines) pdf.text(line).moveDown();
  });
  const library = await PDFiumLibrary.init();
  try {
    const document = await library.loadDocument(page);
    const { data, width, height } = await document.getPage(0).render({ scale: 200 / 72, render: 'bitmap' });
    return await sharp(data, { raw: { width, height, channels: 4 } })
      .flatten({ background: '#f6f6f2' })
      .greyscale()
      .rotate(0.5, { background: '#f6f6f2' })
      .blur(0.7)
      .jpeg({ quality: 70 })
      .toBuffer();
  } finally {
    library.destroy();
  }
}

describe('indexing of scanned pages by ocrmypdf', function () {
  this.timeout(300_000);
  const program = process.env['OCRMYPDF_BINARY'] ?? 'ocrmypdf';
  const command = [program, ...'--skip-text --output-type pdf --jobs 1 --pages {pages} -l {languages} {input} {output}'.split(' ')]; // prettier-ignore
  let workDirectory: string;

  before(async function () {
    workDirectory = await mkdtemp(path.join(process.env['OCR_WORK_DIRECTORY'] ?? tmpdir(), 'ocr-real-'));
    const flaw = await ocrProgramAt(command, workDirectory).flawFor('eng+por');
    if (flaw === undefined) return;
    process.stdout.write(`Skipped: ${flaw}\n`);
    this.skip();
  });
  after(async () => {
    const remainingFiles = await readdir(workDirectory);
    await rm(workDirectory, { recursive: true });
    expect(remainingFiles).to.deep.equal([]);
  });

  /** The file has a page of text and a scanned page. Returns the pages with their texts. */
  async function indexed(line: string, language: Language): Promise<(readonly [number | null, string])[]> {
    const scan = await scanOf([line]);
    const file = await pdfOf(2, (pdf, page) => {
      if (page === 2) pdf.image(scan, 0, 0, { width: pdf.page.width, height: pdf.page.height });
      else pdf.text('This page has text of its own.');
    });
    const source = await buildFileSource(file);
    await (await testDatabase()).query(`UPDATE clubs SET language = $2 WHERE id = $1`, [source.clubId, language]);
    const step = await stepSource(source, { ocr: ocrDeps(command, { workDirectory }) });
    expect(step).to.deep.equal({ done: true, outcome: 'ready', pages: 2, passages: 2 });
    const { warnings, ocrDueAt } = await sourceRow(source);
    expect(warnings).to.deep.equal([{ code: 'read_by_ocr', count: 1, pages: [2] }]);
    expect(ocrDueAt).to.equal(null);
    return (await passagesOf(source)).map(({ page, text }) => [page, text] as const);
  }

  it('reads English on a scanned page, and keeps the text of the page before', async () => {
    const text = [1, 'This page has text of its own.'];
    expect(await indexed('A bowline makes a fixed loop at the end of a rope.', 'en')).to.deep.equal([
      text,
      [2, 'A bowline makes a fixed loop at the end of a rope.'],
    ]);
  });

  it('reads Portuguese with its accents for a club whose language is Portuguese', async () => {
    const [, scanned] = await indexed('As inscrições são feitas até o dia 30 de março.', 'pt');
    expect(scanned?.[1]).to.match(/^As inscrições são feitas até o dia 30 de mar/);
  });
});
