/**
 * A process of its own for one image: reads it from its input, writes it upright and without metadata, once for each box of its
 * argument. A picture is preceded by 12 bytes: its length, width and height. Exit code 2: not an image that can be read.
 */
import sharp from 'sharp';

/** Decoded, four bytes each: what bounds the memory of this process. */
const mostPixels = 50_000_000;

sharp.cache(false);
sharp.concurrency(1);
const boxes = JSON.parse(process.argv[2] ?? '[]');
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
try {
  const image = sharp(Buffer.concat(chunks), { limitInputPixels: mostPixels, failOn: 'error' });
  const { hasAlpha } = await image.metadata();
  const pictures = [];
  for (const box of boxes) {
    const upright = image
      .clone()
      .autoOrient()
      .resize({ ...box, fit: 'inside', withoutEnlargement: true });
    // Mail programs show JPEG and PNG everywhere; of an animation they get the first picture.
    const made = hasAlpha ? upright.png() : upright.jpeg({ quality: 85 });
    const { data, info } = await made.toBuffer({ resolveWithObject: true });
    const head = Buffer.alloc(12);
    for (const [at, value] of [data.length, info.width, info.height].entries()) head.writeUInt32BE(value, 4 * at);
    pictures.push(head, data);
  }
  process.stdout.write(Buffer.concat(pictures));
} catch {
  process.exitCode = 2;
}
