/**
 * A process of its own for one image: reads it from its input, writes it upright and without metadata, once for each box of its
 * argument. Exit code 2: not an image that can be read.
 */
import sharp from 'sharp';
import { input, writePictures } from './child.mjs';

/** Decoded, four bytes each: what bounds the memory of this process. */
const mostPixels = 50_000_000;

sharp.cache(false);
sharp.concurrency(1);
const bytes = await input();
try {
  const image = sharp(bytes, { limitInputPixels: mostPixels, failOn: 'error' });
  await writePictures(image.autoOrient(), await image.metadata());
} catch {
  process.exitCode = 2;
}
