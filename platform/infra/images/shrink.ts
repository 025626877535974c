/** Images made smaller. */
import { makePictures, type Box, type PictureProcess, type SmallPicture } from './pictures.ts';

/** Longer than the largest image takes by far; its pixels bound the rest of its memory. */
const shrinking: PictureProcess = {
  module: new URL('shrink-child.mjs', import.meta.url),
  workMs: 90_000,
  cpuSeconds: 20,
  maxHeapMb: 128,
};

/**
 * @param bytes an image, as somebody uploaded it
 * @param boxes at least one
 * @returns the image upright and without metadata, once for each box; undefined where it cannot be read
 * @throws Error where the process failed for another reason
 */
export function shrinkImage(bytes: Buffer, boxes: readonly Box[]): Promise<SmallPicture[] | undefined> {
  return makePictures(shrinking, [bytes], boxes, new AbortController().signal);
}
