/**
 * A process that prepares the image from its input for print: upright, in sRGB, without metadata, no larger than the box of its argument. A
 * line of JSON with the dimensions comes first. Exit code 2: an image that cannot be read.
 */
import sharp from 'sharp';
import { deflateSync } from 'node:zlib';
import { input, mostPixels } from './child.mjs';

const { box, mostBytes } = JSON.parse(process.argv[2] ?? '{}');
/** A picture with too many bytes is made smaller. */
const scales = [1, 0.5, 0.25];

sharp.cache(false);
sharp.concurrency(1);
const bytes = await input();
try {
  const image = sharp(bytes, { limitInputPixels: mostPixels, failOn: 'error' }).autoOrient().toColourspace('srgb');
  const { hasAlpha } = await image.metadata();
  for (const scale of scales) {
    const size = { width: Math.ceil(box.width * scale), height: Math.ceil(box.height * scale) };
    const resized = image.clone().resize({ ...size, fit: 'inside', withoutEnlargement: true });
    const picture = hasAlpha ? await inPlanes(resized) : await inJpeg(resized);
    if (picture.colors.length + picture.alpha.length > mostBytes && scale !== scales.at(-1)) continue;
    write(picture);
    break;
  }
} catch {
  process.exitCode = 2;
}

/** Colors keep their full resolution, because logos have sharp edges of strong colors. */
async function inJpeg(image) {
  const { data, info } = await image
    .jpeg({ quality: 90, chromaSubsampling: '4:4:4' })
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  if (channels !== 3) throw new Error('The image could not be converted to sRGB');
  return { width, height, coding: 'jpeg', colors: data, alpha: Buffer.alloc(0) };
}

/**
 * Documents store colors and transparency separately. Invisible pixels become white, because a reader that scales the picture mixes them
 * into visible edges.
 */
async function inPlanes(image) {
  const { data, info } = await image.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  if (channels !== 4) throw new Error('The image could not be converted to sRGB');
  const colors = Buffer.alloc(width * height * 3, 0xff);
  const alpha = Buffer.alloc(width * height);
  for (let at = 0; at < alpha.length; at++) {
    alpha[at] = data[4 * at + 3];
    if (alpha[at] > 0) data.copy(colors, 3 * at, 4 * at, 4 * at + 3);
  }
  return { width, height, coding: 'deflate', colors: deflate(colors), alpha: deflate(alpha) };
}

function deflate(plane) {
  return deflateSync(plane, { level: 9 });
}

function write({ width, height, coding, colors, alpha }) {
  const head = JSON.stringify({ width, height, coding, colorBytes: colors.length });
  process.stdout.write(Buffer.concat([Buffer.from(`${head}\n`), colors, alpha]));
}
