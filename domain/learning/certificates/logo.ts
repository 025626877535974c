/** The club's logo at the head of a certificate, above the club's name (DEC-186). */
import type { Id } from '../../../platform/core/ids.ts';
import type { PrintPicture } from '../../../platform/infra/images/print-picture.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { readLogo, type PrintedLook } from '../../branding/printed-look.ts';
import { page } from './ornaments.ts';

/** In points, centered on the page. */
const box = { y: 46, width: 300, height: 44 } as const;
/** At most 288 pixels per inch. */
const pixelsAPoint = 4;
/** At least 96 pixels per inch, so that a small logo is not printed larger than on a screen. */
const mostPointsAPixel = 0.75;

/** The size of a logo that fills its box, in pixels. */
export const logoSize = { width: box.width * pixelsAPoint, height: box.height * pixelsAPoint } as const;

/**
 * @returns the look that can be drawn, and whether the look is complete. It is not complete if the logo cannot be read at the moment. The
 * function never throws.
 */
export async function readLook(
  storage: Pick<ObjectStore, 'stream'>,
  clubId: Id,
  { accentColor, logo }: PrintedLook,
): Promise<{ accentColor: string | null; logo: PrintPicture | null; isComplete: boolean }> {
  if (!logo) return { accentColor, logo: null, isComplete: true };
  const picture = await readLogo(storage, clubId, logo, logoSize);
  if (typeof picture !== 'string') return { accentColor, logo: picture, isComplete: true };
  return { accentColor, logo: null, isComplete: picture === 'unreadable' };
}

/** Draws the logo as a figure of the document. */
export function drawLogo(pdf: PDFKit.PDFDocument, picture: PrintPicture, alt: string): void {
  const scale = Math.min(box.width / picture.width, box.height / picture.height, mostPointsAPixel);
  const [width, height] = [picture.width * scale, picture.height * scale];
  const [x, y] = [(page.width - width) / 2, box.y + (box.height - height) / 2];
  const name = 'Logo';
  (pdf.page.xobjects as Record<string, PDFKit.PDFKitReference>)[name] = embed(pdf, picture);
  const figure = pdf.struct('Figure', { alt }, () => {
    pdf
      .save()
      .transform(width, 0, 0, -height, x, y + height)
      .addContent(`/${name} Do`)
      .restore();
  });
  pdf.addStructure(figure);
  figure.end();
}

function embed(
  pdf: PDFKit.PDFDocument,
  { width, height, coding, colors, alpha }: PrintPicture,
): PDFKit.PDFKitReference {
  const usual = { Type: 'XObject', Subtype: 'Image', Width: width, Height: height, BitsPerComponent: 8 };
  const mask =
    alpha.length === 0
      ? undefined
      : endedRef(pdf, { ...usual, ColorSpace: 'DeviceGray', Filter: 'FlateDecode' }, alpha);
  return endedRef(
    pdf,
    {
      ...usual,
      ColorSpace: 'DeviceRGB',
      Filter: coding === 'jpeg' ? 'DCTDecode' : 'FlateDecode',
      ...(mask && { SMask: mask }),
    },
    colors,
  );
}

function endedRef(pdf: PDFKit.PDFDocument, data: object, stream: Uint8Array): PDFKit.PDFKitReference {
  const ref = pdf.ref(data);
  ref.end(stream);
  return ref;
}
