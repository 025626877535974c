/**
 * A process that draws the first page of the PDF from its input, on white, as large as the box of its argument. PDFium runs as WebAssembly,
 * so it can access only its own memory. Exit code 2: not a PDF, or its first page cannot be rendered.
 */
import { PDFiumLibrary } from '@hyzyla/pdfium';
import sharp from 'sharp';
import { boxes, input, writePictures } from './child.mjs';

sharp.cache(false);
sharp.concurrency(1);
const bytes = await input();
try {
  const library = await PDFiumLibrary.init();
  const document = await library.loadDocument(bytes);
  if (document.getPageCount() < 1) throw new Error('The PDF has no page');
  const page = document.getPage(0);
  const { originalWidth, originalHeight } = page.getOriginalSize();
  // A page has no pixels, so it always fills the box. It is drawn at twice the size, so that letters become smooth.
  const [box] = boxes;
  const scale = 2 * Math.min(box.width / originalWidth, box.height / originalHeight);
  if (!(scale > 0 && Number.isFinite(scale))) throw new Error('The first page has no size');
  const size = {
    width: Math.max(1, Math.round(originalWidth * scale)),
    height: Math.max(1, Math.round(originalHeight * scale)),
  };
  const { data } = await page.render({ ...size, scale: 1, render: 'bitmap', renderFormFields: true });
  await writePictures(sharp(data, { raw: { ...size, channels: 4 } }).removeAlpha(), { ...size, hasAlpha: false });
} catch {
  process.exitCode = 2;
}
