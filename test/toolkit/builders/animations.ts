/** Animations, for tests. */
import sharp from 'sharp';
import { pngChunk } from './pictures.ts';

/** @returns a GIF of different pictures that are shown for 100, 200, 300, 100, 200 … ms. The GIF plays four times */
export async function gifOf({
  width,
  height,
  pictures,
}: {
  width: number;
  height: number;
  pictures: number;
}): Promise<Buffer> {
  const frames = await Promise.all(
    Array.from({ length: pictures }, (_, number) =>
      sharp({
        create: { width, height, channels: 3, background: { r: (number * 97) % 256, g: (number * 61) % 256, b: 90 } },
      })
        .png({ compressionLevel: 1 })
        .toBuffer(),
    ),
  );
  const delay = frames.map((_, number) => 100 * (1 + (number % 3)));
  return sharp(frames, { join: { animated: true } })
    .gif({ loop: 4, delay, effort: 1 })
    .toBuffer();
}

/** @returns an animated PNG with its first frame in the usual position */
export async function apngOf({ width, height }: { width: number; height: number }): Promise<Buffer> {
  const whole = await sharp({ create: { width, height, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  const afterHeader = 8 + 12 + whole.readUInt32BE(8);
  const animation = pngChunk('acTL', Buffer.from([0, 0, 0, 2, 0, 0, 0, 0]));
  return Buffer.concat([whole.subarray(0, afterHeader), animation, whole.subarray(afterHeader)]);
}
