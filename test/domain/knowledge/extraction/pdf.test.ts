import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { book, pdfOf, sentences } from '../../../toolkit/builders/office-files.ts';
import { readFrom, refusalOf, shortly } from '../../../toolkit/drive/extracting.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('reading text from PDF', function () {
  this.timeout(120_000);

  it('reads a book of 500 pages, and assigns each word to its page only', async () => {
    const progress: string[] = [];
    const read = await readFrom(await book(500), {
      onPage: (pages, total) => progress.push(`page ${pages} of ${total}`),
    });
    expect(read.pageCount).to.equal(500);
    for (let page = 1; page <= 500; page++) {
      const pageTexts = read.passages.filter((passage) => passage.page === page).map(({ text }) => text);
      expect(pageTexts.length, `page ${page}`).to.be.at.least(2);
      expect(/This is the (\d+)\w\w page/.exec(pageTexts.join(' '))?.[1]).to.equal(String(page));
    }
    expect([progress.length, progress[119], progress.at(-1)]).to.deep.equal([
      500,
      'page 120 of 500',
      'page 500 of 500',
    ]);
  });

  it('drops running headers, footers and page numbers', async () => {
    const texts = (await readFrom(await book(6))).passages.map(({ text }) => text).join('\n');
    expect(texts).to.contain('This is the 6th page');
    expect(texts).not.to.contain('A Handbook of Knots');
    expect(texts).not.to.match(/^\d$/m);
  });

  it('keeps a header that only two pages share', async () => {
    const read = await readFrom(
      await pdfOf(6, (pdf, page) =>
        pdf
          .fontSize(10)
          .text(`${page <= 2 ? 'Twice said' : `Said on page ${sentences(1, page)}`}\n\n${sentences(5, page)}`),
      ),
    );
    expect(read.passages.filter(({ text }) => text.startsWith('Twice said')).map(({ page }) => page)).to.deep.equal([
      1, 2,
    ]);
  });

  it('joins lines to sentences, and splits paragraphs at gaps', async () => {
    const [first, second] = [sentences(4, 1), sentences(3, 2)];
    const read = await readFrom(await pdfOf(1, (pdf) => pdf.fontSize(10).text(first).moveDown(1).text(second)));
    expect(read.passages.map(({ text }) => text)).to.deep.equal([`${first}\n\n${second}`]);
  });

  it('joins words that were hyphenated at line ends, and keeps real hyphens', async () => {
    const lines = [
      'A bowline is a well-known knot.',
      'It holds the anch-',
      'or of a boat, as all know: a well-',
      'known knot.',
    ];
    const read = await readFrom(
      await pdfOf(1, (pdf) => lines.map((line) => pdf.fontSize(8).text(line, { lineBreak: false }).moveDown(1))),
    );
    expect(shortly(read)[0]?.blocks).to.deep.equal([
      'A bowline is a well-known knot.',
      'It holds the anchor of a boat, as all know: a well-known knot.',
    ]);
  });

  it('reads larger letters as headings, which also apply to later pages', async () => {
    const read = await readFrom(
      await pdfOf(3, (pdf, page) => {
        if (page === 1) pdf.fontSize(20).text('Knots');
        if (page !== 3) pdf.fontSize(14).text(`Chapter ${page}`);
        pdf.fontSize(10).text(sentences(5, page));
      }),
    );
    expect(read.passages.map(({ page, headings }) => ({ page, headings }))).to.deep.equal([
      { page: 1, headings: ['Knots', 'Chapter 1'] },
      { page: 2, headings: ['Knots', 'Chapter 2'] },
      { page: 3, headings: ['Knots', 'Chapter 2'] },
    ]);
  });

  it('reads accents and ligatures as letters', async () => {
    const font = new URL('../../../../node_modules/dejavu-fonts-ttf/ttf/DejaVuSans.ttf', import.meta.url);
    const text = 'A ação é o coração da navegação: oﬃce e ﬁo.';
    const read = await readFrom(await pdfOf(1, (pdf) => pdf.font(fileURLToPath(font)).fontSize(10).text(text)));
    expect(read.passages[0]?.text).to.equal('A ação é o coração da navegação: office e fio.');
  });

  it('counts pages without text', async () => {
    const read = await readFrom(
      await pdfOf(4, (pdf, page) => (page === 3 ? pdf.fontSize(10).text('Here alone.') : pdf.image(png, 50, 50))),
    );
    expect([read.pageCount, read.passages.map(({ page }) => page)]).to.deep.equal([4, [3]]);
  });

  it('rejects a PDF as no_text if the PDF contains only images', async () => {
    expect(await refusalOf(await pdfOf(3, (pdf) => pdf.image(png, 50, 50, { width: 300 })))).to.equal('no_text');
  });

  it('rejects a PDF as file_encrypted only if it has a user password', async () => {
    const draw = (pdf: PDFKit.PDFDocument) => pdf.fontSize(10).text('A bowline holds.');
    expect(await refusalOf(await pdfOf(1, draw, { userPassword: 'secret', pdfVersion: '1.7' }))).to.equal(
      'file_encrypted',
    );
    const read = await readFrom(await pdfOf(1, draw, { ownerPassword: 'secret', pdfVersion: '1.7' }));
    expect(read.passages.map(({ text }) => text)).to.deep.equal(['A bowline holds.']);
  });

  it('rejects a file as file_corrupt if it has only the first line of a PDF', async () => {
    expect(await refusalOf(`%PDF-1.7\n${'x'.repeat(5_000)}`)).to.equal('file_corrupt');
  });

  it('rejects or repairs a PDF that is cut at any position, without an internal error', async () => {
    const whole = await book(20);
    for (const part of [0.1, 0.3, 0.5, 0.7, 0.9, 0.99]) {
      const code = await refusalOf(whole.slice(0, Math.floor(whole.length * part))).catch(
        (error: Error) => error.message,
      );
      expect(['file_corrupt', 'no_text', 'The file can be read.'], `cut at ${part}`).to.include(code);
    }
  });

  it('rejects a PDF as too_many_pages if it has more than 2,000 pages', async () => {
    expect(await refusalOf(await pdfOf(2_001, (pdf) => pdf.text('x')))).to.equal('too_many_pages');
  });
});
