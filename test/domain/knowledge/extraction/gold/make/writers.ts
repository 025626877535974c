/** Files by docx, pptxgenjs and pdfkit; programs.py says what a person reads on them. Arguments: the folder to write to. */
import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { Document, FootnoteReferenceRun, Packer, Paragraph, Table, TableCell, TableRow, TextRun } from 'docx';
import PDFDocument from 'pdfkit';
import pptxgen from 'pptxgenjs';

const [folder = '.'] = process.argv.slice(2);

const rates = [
  ['Knot', 'Strength', 'Minutes'],
  ['Bowline', '', '60'],
  ['Reef knot', '45', ''],
];

async function writeDocx(): Promise<void> {
  const cells = (row: string[]) => row.map((text) => new TableCell({ children: [new Paragraph(text)] }));
  const document = new Document({
    footnotes: { 1: { children: [new Paragraph('Counted at the gate.')] } },
    sections: [
      {
        children: [
          new Paragraph({
            children: [
              new TextRun('The pool holds 10'),
              new TextRun({ text: '3', superScript: true }),
              new TextRun(' litres of H'),
              new TextRun({ text: '2', subScript: true }),
              new TextRun('O. We had 300'),
              new FootnoteReferenceRun(1),
              new TextRun(' guests.'),
            ],
          }),
          new Table({ rows: rates.map((row) => new TableRow({ children: cells(row) })) }),
        ],
      },
    ],
  });
  await writeFile(path.join(folder, 'docx-writer-units.docx'), await Packer.toBuffer(document));
}

async function writePptx(): Promise<void> {
  const deck = new (pptxgen as unknown as typeof pptxgen.default)();
  const slide = deck.addSlide();
  slide.addText(
    [
      { text: 'The pool holds 10' },
      { text: '3', options: { superscript: true } },
      { text: ' litres of H' },
      { text: '2', options: { subscript: true } },
      { text: 'O.' },
    ],
    { x: 1, y: 1, w: 8, h: 1 },
  );
  slide.addTable(
    rates.map((row) => row.map((text) => ({ text }))),
    { x: 1, y: 3, w: 8 },
  );
  slide.addNotes('Tell of the storm.');
  const arabic = deck.addSlide();
  arabic.addText('يبدأ الدرس في الساعة ١٠:٣٠ صباحًا.', { x: 1, y: 1, w: 8, h: 1, rtlMode: true });
  await deck.writeFile({ fileName: path.join(folder, 'pptx-writer-units.pptx') });
}

async function writePdf(): Promise<void> {
  const pdf = new PDFDocument({ info: { CreationDate: new Date(Date.UTC(2026, 0, 1)) } });
  const file = createWriteStream(path.join(folder, 'pdf-writer-units.pdf'));
  pdf.pipe(file);
  pdf.fontSize(11).text('The pool holds 10', { continued: true });
  pdf.fontSize(7).text('3', { continued: true, baseline: -4 }); // from the top of the line
  pdf.fontSize(11).text(' litres. The mast is 12 m high.', { baseline: 'top' });
  pdf.end();
  await finished(file);
}

await writeDocx();
await writePptx();
await writePdf();
