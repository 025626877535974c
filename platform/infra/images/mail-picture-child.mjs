/**
 * A process that makes the e-mail picture of one image from its input. If the argument `animated` is true, it writes all frames as a GIF. A
 * line
 * of JSON with the dimensions comes first. Exit codes: 2 if the image cannot be read or animated, 3 if the image has too many pixels, 4 if
 * the picture has too many bytes.
 */
import sharp from 'sharp';
import { converted, input, mostPixels } from './child.mjs';
import { codedColors } from './coded-colors.mjs';
import { toStandardColors } from './colors.mjs';

const { rules, animated } = JSON.parse(process.argv[2] ?? '{}');
const exitCodes = { unreadable: 2, tooLarge: 3, tooHeavy: 4 };

sharp.cache(false);
sharp.concurrency(1);
const bytes = await input();
try {
  await (animated ? writeAnimation() : writePicture());
} catch {
  process.exitCode = exitCodes.unreadable;
}

/** Writes the picture upright and without metadata: JPEG, or PNG if the image is transparent. */
async function writePicture() {
  const { format, width, height, pages = 1, orientation = 1, hasAlpha, space, icc } = await measures();
  // Otherwise a drawing without a size would become one pixel.
  if (format === 'svg' && width <= 1 && height <= 1) throw new Error('The drawing states no size');
  if (width * height > mostPixels) {
    process.exitCode = exitCodes.tooLarge;
    return;
  }
  const resized = open({}).autoOrient().resize({ width: rules.width, withoutEnlargement: true });
  // The picture is in sRGB, like in shrink-child.mjs.
  if (space === 'rgb16' && icc) resized.withIccProfile('srgb', { attach: false });
  const codes = icc ? undefined : codedColors(bytes);
  const convert = codes && toStandardColors(codes);
  const image = convert ? await converted(resized, convert) : resized;
  // A palette costs 1 s of CPU for each megapixel. So it is tried only if the first PNG is too large.
  const formats = hasAlpha
    ? [image.clone().png(), image.clone().png({ palette: true, effort: 1 })]
    : [image.jpeg({ quality: 85 })];
  for (const candidate of formats) {
    const picture = await candidate.toBuffer({ resolveWithObject: true });
    if (picture.data.length > rules.mostBytes) continue;
    const isMoving = pages > 1 || isAnimatedPng(format) || isImageSequence(format);
    const isAnimatable =
      pages > 1 && pages <= rules.frames && width * height * pages <= mostPixels && orientation === 1;
    write(picture, { type: hasAlpha ? 'image/png' : 'image/jpeg', isMoving, isAnimatable });
    return;
  }
  process.exitCode = exitCodes.tooHeavy;
}

/** All e-mail programs show a GIF, and no other animation. */
async function writeAnimation() {
  const candidate = open({ animated: true }).resize({ width: rules.animatedWidth, withoutEnlargement: true }).gif();
  const { data, info } = await candidate.toBuffer({ resolveWithObject: true });
  if (data.length > rules.mostBytes) {
    process.exitCode = exitCodes.tooHeavy;
    return;
  }
  const height = info.pageHeight ?? info.height;
  write({ data, info: { ...info, height } }, { type: 'image/gif', isMoving: true, isAnimatable: true });
}

/** Reads the dimensions before anything is decoded. */
function measures() {
  return sharp(bytes, { limitInputPixels: false }).metadata();
}

function open(options) {
  return sharp(bytes, { limitInputPixels: mostPixels, failOn: 'error', ...options });
}

function write({ data, info }, facts) {
  const head = JSON.stringify({ ...facts, width: info.width, height: info.height });
  process.stdout.write(Buffer.concat([Buffer.from(`${head}\n`), data]));
}

/** The library would decode only the first frame of such a PNG. */
function isAnimatedPng(format) {
  if (format !== 'png') return false;
  for (let at = 8; at + 8 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const name = bytes.toString('latin1', at + 4, at + 8);
    if (name === 'acTL') return true;
    if (name === 'IDAT') return false;
  }
  return false;
}

/** The first box of such a file names the brand of image sequences. */
function isImageSequence(format) {
  if (format !== 'heif') return false;
  const end = Math.min(bytes.readUInt32BE(0), bytes.length);
  for (let at = 8; at + 4 <= end; at += 4) if (bytes.toString('latin1', at, at + 4) === 'avis') return true;
  return false;
}
