import { expect } from 'chai';
import sharp from 'sharp';
import type { Box } from '../../../../platform/infra/images/pictures.ts';
import { shrinkImage } from '../../../../platform/infra/images/shrink.ts';

const picture = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: { r: 200, g: 30, b: 30, alpha: 0.5 } } });

/** Within one box. */
const shrink = async (bytes: Buffer, box: Box = { width: 1_200 }) => (await shrinkImage(bytes, [box]))?.[0];

describe('an image made smaller', () => {
  it('is upright, at most 1,200 pixels wide, and says nothing of camera or place', async () => {
    const original = await picture(3_000, 1_500)
      .withExif({ IFD0: { Artist: 'Ada Example' }, IFD3: { GPSLatitude: '51/1 30/1 0/1' } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const made = await shrink(original);
    expect(made?.type).to.equal('image/jpeg');
    const { width, height, exif, orientation } = await sharp(made?.bytes).metadata();
    expect({ width, height, exif, orientation }).to.deep.equal({
      width: 1_200,
      height: 2_400,
      exif: undefined,
      orientation: undefined,
    });
  });

  it('is not enlarged, and stays PNG where it is transparent', async () => {
    const made = await shrink(await picture(40, 30, 4).webp().toBuffer());
    expect(made?.type).to.equal('image/png');
    expect(await sharp(made?.bytes).metadata()).to.include({ width: 40, height: 30, format: 'png' });
  });

  it('is made for several boxes at once, each with its measures', async () => {
    const original = await picture(900, 600).jpeg().toBuffer();
    const made = await shrinkImage(original, [
      { width: 1_600, height: 1_600 },
      { width: 320, height: 90 },
    ]);
    expect(made?.map(({ type, width, height }) => [type, width, height])).to.deep.equal([
      ['image/jpeg', 900, 600],
      ['image/jpeg', 135, 90],
    ]);
    for (const { bytes, width, height } of made ?? [])
      expect(await sharp(bytes).metadata()).to.include({ format: 'jpeg', width, height });
  });

  for (const [what, bytes] of [
    ['text', Buffer.from('<script>alert(1)</script>')],
    ['nothing', Buffer.alloc(0)],
    [
      'a picture that breaks off',
      picture(300, 300)
        .png()
        .toBuffer()
        .then((whole) => whole.subarray(0, 60)),
    ],
    ['a small file of too many pixels', picture(8_000, 8_000).png({ compressionLevel: 9 }).toBuffer()],
  ] as const) {
    it(`is nothing where the file is ${what}`, async () => {
      expect(await shrink(await bytes)).to.equal(undefined);
    });
  }
});
