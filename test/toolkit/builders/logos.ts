/** Builds logos of clubs: draws a logo, stores it as a processed file, and chooses it for the club. */
import sharp, { type Sharp } from 'sharp';
import type { Id } from '../../../platform/core/ids.ts';
import { callsOf } from '../drive/club-calls.ts';
import { uploadFile } from '../drive/media.ts';
import { movedFile } from '../drive/moving.ts';
import type { TestClub } from './clubs.ts';

/** A red field of this size in pixels, with a transparent round hole in its middle. @returns SVG */
export function logoDrawing(width: number, height: number): Buffer {
  const [x, y, radius] = [width / 2, height / 2, Math.min(width, height) / 4];
  return Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><path fill="#d01020" fill-rule="evenodd" ` +
      `d="M0 0h${width}v${height}H0z M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z"/></svg>`,
  );
}

/** @param isOpaque white instead of transparent */
export function logoPixels(width: number, height: number, { isOpaque = false } = {}): Sharp {
  const image = sharp(logoDrawing(width, height));
  return isOpaque ? image.flatten({ background: '#ffffff' }) : image;
}

/** A public image of the library that a worker has processed. */
export async function buildLogo(club: TestClub, bytes: Buffer, mime = 'image/png'): Promise<Id> {
  const { id } = await uploadFile({ club }, { fileName: 'Logo', mime, bytes });
  await moveLogo(club, id, 'publish');
  return id;
}

export async function moveLogo(club: TestClub, id: Id, action: 'publish' | 'unpublish'): Promise<void> {
  await callsOf(club)('POST', `/media/${id}/${action}`);
  await movedFile(id);
}

/** Sets the colors and logos of the club. Missing parts get the default. */
export async function chooseLook(club: TestClub, look: Record<string, unknown>): Promise<void> {
  const { status, body } = await callsOf(club)('PUT', '/branding', look);
  if (status !== 200) throw new Error(`The colors and logos were refused: ${JSON.stringify(body)}`);
}
