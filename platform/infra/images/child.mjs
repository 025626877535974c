/** Code that all picture processes share: how they read their input and write the pictures. */
import sharp from 'sharp';

/** @returns the whole input */
export async function input() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The maximum number of decoded pixels, with four bytes for each pixel. This maximum limits the memory of the picture processes. */
export const mostPixels = 50_000_000;

/** The boxes into which the pictures must fit. They come from the argument of the process. */
export const boxes = JSON.parse(process.argv[2] ?? '[]');

const most = 0xffff;

/** @returns the image with converted colours and unchanged transparency */
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
 * Writes one picture of the image for each box, never larger than the image. Before each picture, it writes 12 bytes with the picture's
 * length, width and height.
 * @param {import('sharp').Sharp} image upright
 * @param {{ width: number, height: number, hasAlpha: boolean, convert?: (color: number[]) => number[] }} of the image: its size in pixels
 * before rotation, and `convert`, which converts its colours to sRGB. if `convert` is absent, the colours need no conversion
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
    // The pictures are JPEG or PNG, because all e-mail programs show these formats. The picture of an animation is its first frame.
    const encoded = hasAlpha ? small.png() : small.jpeg({ quality: 85 });
    const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
    const head = Buffer.alloc(12);
    for (const [at, value] of [data.length, info.width, info.height].entries()) head.writeUInt32BE(value, 4 * at);
    pictures.push(head, data);
  }
  process.stdout.write(Buffer.concat(pictures));
}
