/**
 * A process of its own for one image: reads it from its input, writes it upright, without metadata, at most 1,200 pixels wide.
 * Exit code 2: not an image that can be read.
 */
import sharp from 'sharp';

const widest = 1_200;
/** Decoded, four bytes each: what bounds the memory of this process. */
const mostPixels = 50_000_000;

sharp.cache(false);
sharp.concurrency(1);
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
try {
  const image = sharp(Buffer.concat(chunks), { limitInputPixels: mostPixels, failOn: 'error' });
  const { hasAlpha } = await image.metadata();
  const upright = image.autoOrient().resize({ width: widest, withoutEnlargement: true });
  // Mail programs show JPEG and PNG everywhere; of an animation they get the first picture.
  process.stdout.write(await (hasAlpha ? upright.png() : upright.jpeg({ quality: 85 })).toBuffer());
} catch {
  process.exitCode = 2;
}
