/** Documents of the types that a library takes, made by the libraries that people's programs use. */
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

export async function pdf(...pages: string[]): Promise<Buffer> {
  const document = new PdfDocument({ autoFirstPage: false });
  const chunks: Buffer[] = [];
  document.on('data', (chunk: Buffer) => chunks.push(chunk));
  for (const text of pages) document.addPage().text(text);
  document.end();
  await once(document, 'end');
  return Buffer.concat(chunks);
}
