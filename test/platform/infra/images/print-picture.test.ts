/** Tests how images are converted for printed documents (DEC-186). */
import { inflateSync } from 'node:zlib';
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import sharp from 'sharp';
import { makePrintPicture } from '../../../../platform/infra/images/print-picture.ts';

const plain = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: { r: 200, g: 30, b: 30, alpha: 0.5 } } });
const box = { width: 400, height: 100 };
const make = (
  image: Buffer,
  { mostBytes = 200_000, signal = new AbortController().signal }: { mostBytes?: number; signal?: AbortSignal } = {},
) => makePrintPicture(image, { box, mostBytes, signal });

describe('the copy of an image for printed documents', function () {
  this.timeout(20_000);
  it('fits into its box, and is turned by the orientation tag', async () => {
    const turned = await plain(300, 1_200).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    expect(await make(turned)).to.include({ width: 400, height: 100, coding: 'jpeg' });
  });

  it('is never enlarged', async () => {
    expect(await make(await plain(40, 30).png().toBuffer())).to.include({ width: 40, height: 30 });
  });

  for (const [what, image] of [
    ['in shades of grey', plain(80, 80).greyscale().toColourspace('b-w').jpeg()],
    ['in CMYK', plain(80, 80).toColourspace('cmyk').jpeg()],
    ['with 16 bits for each colour', plain(80, 80).toColourspace('rgb16').png()],
  ] as const)
    it(`is a JPEG in sRGB without chroma subsampling for an image ${what}`, async () => {
      const picture = await make(await image.toBuffer());
      const read = await sharp(Buffer.from(picture?.colors ?? [])).metadata();
      expect(read).to.include({ format: 'jpeg', space: 'srgb', channels: 3, chromaSubsampling: '4:4:4' });
      expect(picture?.alpha.length).to.equal(0);
    });

  it('stores colours and transparency separately', async () => {
    const field = await plain(20, 10, 4).png().toBuffer();
    const image = sharp({ create: { width: 40, height: 10, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } });
    const picture = await make(
      await image
        .composite([{ input: field, left: 0, top: 0 }])
        .png()
        .toBuffer(),
    );
    const [colors, alpha] = [inflateSync(picture?.colors ?? ''), inflateSync(picture?.alpha ?? '')];
    expect([picture?.coding, colors.length, alpha.length]).to.deep.equal(['deflate', 40 * 10 * 3, 40 * 10]);
    expect([...colors.subarray(0, 3), alpha[0]]).to.deep.equal([200, 30, 30, 128]);
    expect([...colors.subarray(3 * 39, 3 * 40), alpha[39]]).to.deep.equal([255, 255, 255, 0]);
  });

  it('gets fewer pixels if it has too many bytes', async () => {
    const noise = sharp(randomBytes(400 * 100 * 4), { raw: { width: 400, height: 100, channels: 4 } });
    const bytes = await noise.png().toBuffer();
    expect(await make(bytes)).to.include({ width: 400, height: 100 });
    expect(await make(bytes, { mostBytes: 100_000 })).to.include({ width: 200, height: 50 });
    expect(await make(bytes, { mostBytes: 1 })).to.include({ width: 100, height: 25 });
  });

  for (const [what, bytes] of [
    ['text', Buffer.from('<script>alert(1)</script>')],
    ['nothing', Buffer.alloc(0)],
    [
      'an SVG with more than 50 megapixels',
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="20000" height="20000"/>'),
    ],
  ] as const)
    it(`is undefined for ${what}`, async () => {
      expect(await make(bytes)).to.equal(undefined);
    });

  it('ends when its abort signal fires', async () => {
    const reason = new Error('The document is not needed any more.');
    const failure = await make(await plain(40, 30).png().toBuffer(), { signal: AbortSignal.abort(reason) }).catch(
      (error: unknown) => error,
    );
    expect(failure).to.equal(reason);
  });
});
