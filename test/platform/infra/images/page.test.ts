/** Renders the first page of a PDF in a separate process. */
import { expect } from 'chai';
import sharp from 'sharp';
import { drawFirstPage } from '../../../../platform/infra/images/page.ts';
import type { PictureProcess } from '../../../../platform/infra/images/pictures.ts';
import { endlessPdf, growingPdf, pdf, pdfWith, rawPage, rawPdf } from '../../../toolkit/builders/documents.ts';

const box = { width: 640, height: 640 };

const draw = (bytes: Buffer, bounds: Partial<PictureProcess> = {}, { signal } = new AbortController()) =>
  drawFirstPage([bytes], box, { signal, bounds });
const sizeOf = async (bytes: Buffer) => {
  const { type, width, height } = (await draw(bytes)) ?? {};
  return `${type} ${width} × ${height}`;
};
/** From 0 to 255. */
const range = async (bytes: Buffer) => {
  const { channels } = await sharp((await draw(bytes))?.bytes)
    .greyscale()
    .stats();
  return { darkest: channels[0]?.min, brightest: channels[0]?.max };
};
const catalog = '<< /Type /Catalog /Pages 2 0 R >>';
const fontNamed = (name: string) =>
  `/Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /${name} >> >> >>`;

describe('rendering the first page of a PDF', function () {
  this.timeout(20_000);

  it('renders only the first of several pages, as a JPEG with dark text on white', async () => {
    const bytes = await pdf('Knots', 'Bends');
    expect(await draw(bytes)).to.include({ type: 'image/jpeg', width: 495, height: 640 });
    const { darkest, brightest } = await range(bytes);
    expect(brightest).to.equal(255);
    expect(darkest).to.be.below(100);
    expect((await range(await pdf('', 'Bends'))).darkest).to.equal(255);
  });

  it('rotates the page as the PDF states, and fits it into the box', async () => {
    expect(await sizeOf(rawPage('/MediaBox [0 0 300 600] /Rotate 90', ''))).to.equal('image/jpeg 640 × 320');
    expect(await sizeOf(rawPage('/MediaBox [0 0 14000 7]', ''))).to.equal('image/jpeg 640 × 1');
    expect(await sizeOf(rawPage('/MediaBox [0 0 1000000000 1000000000]', ''))).to.equal('image/jpeg 640 × 640');
  });

  it('renders words even if their font is neither in the file nor on the machine', async () => {
    const page = rawPage(`/MediaBox [0 0 200 100] ${fontNamed('NoSuchFont')}`, 'BT /F 40 Tf 20 40 Td (Knots) Tj ET');
    expect((await range(page)).darkest).to.be.below(100);
  });

  it('renders a document of 20,000 pages', async () => {
    const kids = Array.from({ length: 20_000 }, (_, at) => `${at + 3} 0 R`).join(' ');
    const page = '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >>';
    const many = rawPdf(catalog, `<< /Type /Pages /Kids [${kids}] /Count 20000 >>`, ...Array(20_000).fill(page));
    expect(await sizeOf(many)).to.equal('image/jpeg 640 × 640');
  });

  for (const [what, bytes] of [
    ['is none', Buffer.from('%PDF-1.7\n%%EOF')],
    ['has no page', rawPdf(catalog, '<< /Type /Pages /Kids [] /Count 0 >>')],
    [
      'has a page tree in which pages are their own parents',
      rawPdf(catalog, '<< /Type /Pages /Kids [2 0 R] /Count 1 >>'),
    ],
    ['needs a password', pdfWith({ userPassword: 'knot', pdfVersion: '1.7' }, 'Knots')],
    ['breaks off', pdf('Knots').then((whole) => whole.subarray(0, 300))],
  ] as const)
    it(`returns nothing if the file ${what}`, async () => {
      expect(await draw(await bytes)).to.equal(undefined);
    });

  it('returns nothing at the CPU limit, but throws at the time limit', async () => {
    const late = await draw(endlessPdf(), { workMs: 300, cpuSeconds: 600 }).catch((error: Error) => error.message);
    expect(late, 'clock').to.equal('The picture process did not end within 300 ms');
    expect(await draw(endlessPdf(), { workMs: 60_000, cpuSeconds: 1 }), 'CPU').to.equal(undefined);
  });

  it('returns nothing if it exceeds the memory limit', async () => {
    const large = Buffer.concat([await pdf('Knots'), Buffer.alloc(40_000_000, ' ')]);
    expect(await draw(large, { maxWasmMb: 32 })).to.equal(undefined);
    expect(await draw(large)).to.include({ width: 495 });
    expect(await draw(growingPdf())).to.equal(undefined);
  });

  it('ends when its abort signal fires', async () => {
    const stop = new AbortController();
    const drawing = draw(endlessPdf(), { workMs: 600_000, cpuSeconds: 600 }, stop).catch((error: unknown) => error);
    setImmediate(() => stop.abort(new Error('stopped')));
    expect(await drawing).to.have.property('message', 'stopped');
    const broken = async function* () {
      yield Buffer.from('%PDF-1.7');
      throw new Error('The store is away.');
    };
    const failed = await drawFirstPage(broken(), box, new AbortController()).catch((error: unknown) => error);
    expect(failed).to.have.property('message', 'The store is away.');
  });
});
