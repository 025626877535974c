/**
 * A process that writes the image from its input once for each box of its argument: upright, in sRGB, without metadata. Exit code 2: an
 * image that cannot be read.
 */
import sharp from 'sharp';
import { input, mostPixels, writePictures } from './child.mjs';
import { codedColors } from './coded-colors.mjs';
import { toStandardColors } from './colors.mjs';

sharp.cache(false);
sharp.concurrency(1);
const bytes = await input();
try {
  const image = sharp(bytes, { limitInputPixels: mostPixels, failOn: 'error' });
  const { space, icc, ...found } = await image.metadata();
  image.autoOrient();
  // sharp processes 16-bit colours in Display P3, and would not convert them back.
  if (space === 'rgb16' && icc) image.withIccProfile('srgb', { attach: false });
  // A colour profile is more precise than the codes.
  const codes = icc ? undefined : codedColors(bytes);
  await writePictures(image, { ...found, convert: codes && toStandardColors(codes) });
} catch {
  process.exitCode = 2;
}
