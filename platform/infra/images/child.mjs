/** Code of all picture processes: how they read their input and write the pictures. */
import sharp from 'sharp';

/** @returns the whole input */
export async function input() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Limits the memory of the picture processes: a pixel has four bytes. */
export const mostPixels = 50_000_000;

/** The boxes come from the argument of the process. */
export const boxes = JSON.parse(process.argv[2] ?? '[]');

const most = 0xffff;

export async function converted(image, convert) {
  const { data, info } = await image
    .toColourspace('rgb16')
    .raw({ depth: 'ushort' })
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const samples = new Uint16Array(data.buffer, data.byteOffset, data.length / 2);
  const bytes = new Uint8Array(samples.length);
  for (let at = 0; at < samples.length; at += channels) {
    const color = convert([samples[at] / most, samples[at + 1] / most, samples[at + 2] / most]);
    for (const [channel, value] of color.entries()) bytes[at + channel] = Math.round(255 * value);
    if (channels > 3) bytes[at + 3] = samples[at + 3] >> 8;
  }
  return sharp(bytes, { raw: { width, height, channels } });
}

/**
 * Writes one picture for each box, never larger than the image. 12 bytes before each have its length, width and height.
 * @param {import('sharp').Sharp} image upright
 * @param {{ width: number, height: number, hasAlpha: boolean, convert?: (color: number[]) => number[] }} of the image: its size before
 * rotation; `convert` converts its colours to sRGB, absent if not needed
 */
export async function writePictures(image, { width, height, hasAlpha, convert }) {
  const pictures = [];
  for (const { isSquare, ...box } of boxes) {
    const side = Math.min(box.width, width, height);
    const size = isSquare
      ? { width: side, height: side, fit: 'cover' }
      : { ...box, fit: 'inside', withoutEnlargement: true };
    const resized = image.clone().resize(size);
    const small = convert ? await converted(resized, convert) : resized;
    // All e-mail programs show JPEG and PNG. The picture of an animation is its first frame.
    const encoded = hasAlpha ? small.png() : small.jpeg({ quality: 85 });
    const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
    const head = Buffer.alloc(12);
    for (const [at, value] of [data.length, info.width, info.height].entries()) head.writeUInt32BE(value, 4 * at);
    pictures.push(head, data);
  }
  process.stdout.write(Buffer.concat(pictures));
}
