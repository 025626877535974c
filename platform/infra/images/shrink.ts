/** Shrinks images. */
import { makePictures, type Box, type PictureProcess, type SmallPicture } from './pictures.ts';

/** These limits are much more than the largest image needs. The limit of pixels bounds the memory outside the heap. */
const shrinking: PictureProcess = {
  module: new URL('shrink-child.mjs', import.meta.url),
  workMs: 90_000,
  cpuSeconds: 20,
  maxHeapMb: 128,
};

/**
 * @param bytes an uploaded image
 * @param boxes at least one
 * @returns the pictures, upright and without metadata; undefined if the image cannot be read
 * @throws Error if the process failed for a reason other than the image
 */
export function shrinkImage(bytes: Buffer, boxes: readonly Box[]): Promise<SmallPicture[] | undefined> {
  return makePictures(shrinking, [bytes], boxes, new AbortController().signal);
}
