/** Builds PDFs with pictures as pages, as scanners write them. */
import sharp from 'sharp';
import { pdfOf } from './office-files.ts';

/** @param scanned the numbers of the pages that are pictures. The other pages contain a text with their number @param pages of the file */
export async function scannedPdf(scanned: readonly number[], pages: number): Promise<Uint8Array<ArrayBuffer>> {
  const picture = await sharp({ create: { width: 60, height: 80, channels: 3, background: '#dddddd' } })
    .jpeg()
    .toBuffer();
  return pdfOf(pages, (pdf, page) => {
    if (scanned.includes(page)) pdf.image(picture, 0, 0, { width: pdf.page.width, height: pdf.page.height });
    else pdf.text(`The text of page ${page} stands in the file itself.`);
  });
}
