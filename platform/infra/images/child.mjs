/** What the processes that make pictures share: what they read, and how they write the pictures. */

/** @returns all of the input */
export async function input() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** What each picture must fit into, as the argument says. */
export const boxes = JSON.parse(process.argv[2] ?? '[]');

/**
 * Writes the image once for each box, never enlarged. A picture is preceded by 12 bytes: its length, width and height.
 * @param {import('sharp').Sharp} image upright
 * @param {{ width: number, height: number, hasAlpha: boolean }} of the image, in pixels, however it stands
 */
export async function writePictures(image, { width, height, hasAlpha }) {
  const pictures = [];
  for (const { isSquare, ...box } of boxes) {
    const side = Math.min(box.width, width, height);
    const size = isSquare
      ? { width: side, height: side, fit: 'cover' }
      : { ...box, fit: 'inside', withoutEnlargement: true };
    const small = image.clone().resize(size);
    // Mail programs show JPEG and PNG everywhere; of an animation they get the first picture.
    const made = hasAlpha ? small.png() : small.jpeg({ quality: 85 });
    const { data, info } = await made.toBuffer({ resolveWithObject: true });
    const head = Buffer.alloc(12);
    for (const [at, value] of [data.length, info.width, info.height].entries()) head.writeUInt32BE(value, 4 * at);
    pictures.push(head, data);
  }
  process.stdout.write(Buffer.concat(pictures));
}
