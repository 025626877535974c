import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import sharp, { type Sharp } from 'sharp';
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

  it('is not enlarged, and stays PNG if it is transparent', async () => {
    const made = await shrink(await picture(40, 30, 4).webp().toBuffer());
    expect(made?.type).to.equal('image/png');
    expect(await sharp(made?.bytes).metadata()).to.include({ width: 40, height: 30, format: 'png' });
  });

  it('is made for several boxes together, each with its dimensions', async () => {
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

  describe('is in sRGB', () => {
    const gray = (level: number) =>
      sharp({ create: { width: 8, height: 8, channels: 3, background: { r: level, g: level, b: level } } });
    const colored = (r: number, g: number, b: number) =>
      sharp({ create: { width: 8, height: 8, channels: 3, background: { r, g, b } } });
    const shownOf = async (bytes: Buffer): Promise<number[]> => {
      const made = await shrink(bytes);
      return [...(await sharp(made?.bytes).raw().toBuffer()).subarray(0, 3)];
    };
    const expectClose = (shown: readonly number[], expected: readonly number[]) => {
      for (const [at, value] of shown.entries()) expect(value, String(shown)).to.be.closeTo(expected[at] ?? 0, 4);
    };
    /** An AVIF that says other colours than those with which it was coded. */
    const avifSaying = async (image: Sharp, bitdepth: 8 | 10, primaries: number, transfer: number) => {
      const deep = bitdepth > 8 ? image.toColourspace('rgb16') : image;
      const bytes = await deep.avif({ bitdepth, lossless: true }).toBuffer();
      const at = bytes.indexOf('nclx');
      bytes.writeUInt16BE(primaries, at + 4);
      bytes.writeUInt16BE(transfer, at + 6);
      return bytes;
    };

    for (const [format, space] of [
      ['png', 'srgb'],
      ['png', 'rgb16'],
      ['jpeg', 'srgb'],
      ['webp', 'srgb'],
      ['avif', 'srgb'],
    ] as const)
      it(`if its profile is Display P3: ${format}, ${space}`, async () => {
        const image = colored(120, 200, 40).toColourspace(space).withIccProfile('p3');
        const bytes = await image.toFormat(format, format === 'png' ? {} : { quality: 100 }).toBuffer();
        expectClose(await shownOf(bytes), [120, 200, 40]);
      });

    it('if it has 16 bits and no profile', async () => {
      expectClose(await shownOf(await colored(120, 200, 40).toColourspace('rgb16').png().toBuffer()), [120, 200, 40]);
    });

    for (const bits of [8, 10] as const)
      it(`where an AVIF of ${bits} bits says Display P3, PQ or HLG`, async () => {
        expectClose(await shownOf(await avifSaying(colored(153, 77, 77), bits, 12, 13)), [164, 71, 74]);
        expectClose(await shownOf(await avifSaying(gray(148), bits, 9, 16)), [230, 230, 230]);
        expectClose(await shownOf(await avifSaying(gray(191), bits, 9, 18)), [230, 230, 230]);
        expectClose(await shownOf(await avifSaying(gray(148), bits, 1, 13)), [148, 148, 148]);
      });

    it('if an HDR picture is transparent: keeps its transparency', async () => {
      const half = sharp({
        create: { width: 8, height: 8, channels: 4, background: { r: 148, g: 148, b: 148, alpha: 0.5 } },
      });
      const made = await shrink(await avifSaying(half, 10, 9, 16));
      expectClose([...(await sharp(made?.bytes).raw().toBuffer()).subarray(0, 4)], [230, 230, 230, 128]);
    });

    it('where a PNG says PQ (cICP)', async () => {
      const bytes = await gray(148).png().toBuffer();
      const chunk = Buffer.concat([Buffer.from('cICP'), Buffer.from([9, 16, 0, 1])]);
      const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
      length.writeUInt32BE(4);
      sum.writeUInt32BE(crc32(chunk));
      const afterHeader = 33;
      const said = [bytes.subarray(0, afterHeader), length, chunk, sum, bytes.subarray(afterHeader)];
      expectClose(await shownOf(Buffer.concat(said)), [230, 230, 230]);
    });

    it('or is nothing, whatever is broken in what an AVIF says of itself', async () => {
      const bytes = await avifSaying(gray(148), 8, 9, 16);
      for (const name of ['meta', 'iprp', 'ipco', 'ipma', 'pitm', 'nclx']) {
        const broken = Buffer.from(bytes);
        broken.write('free', bytes.indexOf(name), 'latin1');
        expect((await shrink(broken))?.width, name).to.be.oneOf([8, undefined]);
      }
      bytes.writeUInt32BE(0xffffffff, bytes.indexOf('ipma') + 8);
      expect((await shrink(bytes))?.width).to.be.oneOf([8, undefined]);
    });
  });
});
