/** Builds documents of the types that the library accepts, with packages that real programs use. */
import { once } from 'node:events';
import { Document, Packer, Paragraph } from 'docx';
import PdfDocument from 'pdfkit';
import pptxgen from 'pptxgenjs';

export async function docx(text: string): Promise<Buffer> {
  return Packer.toBuffer(new Document({ sections: [{ children: [new Paragraph(text)] }] }));
}

export async function pptx(text: string): Promise<Buffer> {
  const show = new (pptxgen as unknown as typeof pptxgen.default)();
  show.addSlide().addText(text, { x: 1, y: 1, w: 8, h: 1 });
  return (await show.write({ outputType: 'nodebuffer' })) as Buffer;
}

export const pdf = (...pages: string[]): Promise<Buffer> => pdfWith({}, ...pages);

export async function pdfWith(options: PDFKit.PDFDocumentOptions, ...pages: string[]): Promise<Buffer> {
  const document = new PdfDocument({ ...options, autoFirstPage: false });
  const chunks: Buffer[] = [];
  document.on('data', (chunk: Buffer) => chunks.push(chunk));
  for (const text of pages) document.addPage().text(text);
  document.end();
  await once(document, 'end');
  return Buffer.concat(chunks);
}

/** A PDF that consists of exactly these objects. The first object is the catalog. */
export function rawPdf(...objects: string[]): Buffer {
  const parts = ['%PDF-1.7\n'];
  const offsets: number[] = [];
  let at = parts.join('').length;
  for (const [index, body] of objects.entries()) {
    const object = `${index + 1} 0 obj\n${body}\nendobj\n`;
    offsets.push(at);
    parts.push(object);
    at += object.length;
  }
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const [count, root] = [objects.length + 1, '/Root 1 0 R'];
  parts.push(
    `xref\n0 ${count}\n0000000000 65535 f \n${entries}trailer\n<< /Size ${count} ${root} >>\nstartxref\n${at}\n%%EOF\n`,
  );
  return Buffer.from(parts.join(''), 'latin1');
}

const stream = (body: string, entries = '') => `<< ${entries} /Length ${body.length} >>\nstream\n${body}\nendstream`;

/** One page. @param page its dictionary entries @param resources further objects, from number 5 on */
export const rawPage = (page: string, content: string, ...resources: string[]): Buffer =>
  rawPdf(
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /Contents 4 0 R ${page} >>`,
    stream(content),
    ...resources,
  );

/** A PDF that paints its page fifty thousand times, so that rendering takes minutes. */
export function endlessPdf(): Buffer {
  const color = '<< /FunctionType 2 /Domain [0 1] /C0 [1 0 0] /C1 [0 0 1] /N 1 >>';
  const shading = `<< /ShadingType 2 /ColorSpace /DeviceRGB /Coords [0 0 99 99] /Extend [true true] /Function ${color} >>`;
  return rawPage(`/MediaBox [0 0 99 99] /Resources << /Shading << /S ${shading} >> >>`, '/S sh '.repeat(50_000));
}

/** A PDF whose page draws a form XObject. Each form draws the next form a hundred times, so the page draws ten billion rectangles. */
export function growingPdf(): Buffer {
  const [depth, times] = [5, 100];
  const forms = Array.from({ length: depth + 1 }, (_, at) =>
    stream(
      at === depth ? '0 0 9 9 re f' : '/F Do '.repeat(times),
      `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F ${at + 6} 0 R >> >>`,
    ),
  );
  return rawPage('/MediaBox [0 0 99 99] /Resources << /XObject << /F 5 0 R >> >>', '/F Do', ...forms);
}
