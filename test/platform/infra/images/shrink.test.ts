import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import sharp, { type Sharp } from 'sharp';
import type { Box } from '../../../../platform/infra/images/pictures.ts';
import { shrinkImage } from '../../../../platform/infra/images/shrink.ts';

const picture = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: { r: 200, g: 30, b: 30, alpha: 0.5 } } });

/** Within one box. */
const shrink = async (bytes: Buffer, box: Box = { width: 1_200 }) => (await shrinkImage(bytes, [box]))?.[0];

describe('shrinking an image', () => {
  it('turns the image upright, limits its width, and removes its metadata', async () => {
    const original = await picture(3_000, 1_500)
      .withExif({ IFD0: { Artist: 'Ada Example' }, IFD3: { GPSLatitude: '51/1 30/1 0/1' } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const result = await shrink(original);
    expect(result?.type).to.equal('image/jpeg');
    const { width, height, exif, orientation } = await sharp(result?.bytes).metadata();
    expect({ width, height, exif, orientation }).to.deep.equal({
      width: 1_200,
      height: 2_400,
      exif: undefined,
      orientation: undefined,
    });
  });

  it('never enlarges an image, and keeps a transparent image in the format PNG', async () => {
    const result = await shrink(await picture(40, 30, 4).webp().toBuffer());
    expect(result?.type).to.equal('image/png');
    expect(await sharp(result?.bytes).metadata()).to.include({ width: 40, height: 30, format: 'png' });
  });

  it('makes a version for each of several boxes in one call', async () => {
    const original = await picture(900, 600).jpeg().toBuffer();
    const result = await shrinkImage(original, [
      { width: 1_600, height: 1_600 },
      { width: 320, height: 90 },
    ]);
    expect(result?.map(({ type, width, height }) => [type, width, height])).to.deep.equal([
      ['image/jpeg', 900, 600],
      ['image/jpeg', 135, 90],
    ]);
    for (const { bytes, width, height } of result ?? [])
      expect(await sharp(bytes).metadata()).to.include({ format: 'jpeg', width, height });
  });

  for (const [what, bytes] of [
    ['text', Buffer.from('<script>alert(1)</script>')],
    ['nothing', Buffer.alloc(0)],
    [
      'a truncated picture',
      picture(300, 300)
        .png()
        .toBuffer()
        .then((whole) => whole.subarray(0, 60)),
    ],
    ['a small file with too many pixels', picture(8_000, 8_000).png({ compressionLevel: 9 }).toBuffer()],
  ] as const) {
    it(`returns nothing if the file is ${what}`, async () => {
      expect(await shrink(await bytes)).to.equal(undefined);
    });
  }

  describe('of any color space', () => {
    const gray = (level: number) =>
      sharp({ create: { width: 8, height: 8, channels: 3, background: { r: level, g: level, b: level } } });
    const colored = (r: number, g: number, b: number) =>
      sharp({ create: { width: 8, height: 8, channels: 3, background: { r, g, b } } });
    const shownOf = async (bytes: Buffer): Promise<number[]> => {
      const result = await shrink(bytes);
      return [...(await sharp(result?.bytes).raw().toBuffer()).subarray(0, 3)];
    };
    const expectClose = (color: readonly number[], expected: readonly number[]) => {
      for (const [at, value] of color.entries()) expect(value, String(color)).to.be.closeTo(expected[at] ?? 0, 4);
    };
    /** The header of this AVIF names other colors than its encoding. */
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
      it(`converts to sRGB if the profile is Display P3: ${format}, ${space}`, async () => {
        const image = colored(120, 200, 40).toColourspace(space).withIccProfile('p3');
        const bytes = await image.toFormat(format, format === 'png' ? {} : { quality: 100 }).toBuffer();
        expectClose(await shownOf(bytes), [120, 200, 40]);
      });

    it('converts to sRGB if the image has 16 bits and no profile', async () => {
      expectClose(await shownOf(await colored(120, 200, 40).toColourspace('rgb16').png().toBuffer()), [120, 200, 40]);
    });

    for (const bits of [8, 10] as const)
      it(`converts to sRGB if an AVIF of ${bits} bits says Display P3, PQ or HLG`, async () => {
        expectClose(await shownOf(await avifSaying(colored(153, 77, 77), bits, 12, 13)), [164, 71, 74]);
        expectClose(await shownOf(await avifSaying(gray(148), bits, 9, 16)), [230, 230, 230]);
        expectClose(await shownOf(await avifSaying(gray(191), bits, 9, 18)), [230, 230, 230]);
        expectClose(await shownOf(await avifSaying(gray(148), bits, 1, 13)), [148, 148, 148]);
      });

    it('converts a transparent HDR image to sRGB and keeps its transparency', async () => {
      const half = sharp({
        create: { width: 8, height: 8, channels: 4, background: { r: 148, g: 148, b: 148, alpha: 0.5 } },
      });
      const result = await shrink(await avifSaying(half, 10, 9, 16));
      expectClose([...(await sharp(result?.bytes).raw().toBuffer()).subarray(0, 4)], [230, 230, 230, 128]);
    });

    it('converts to sRGB if a PNG says PQ (cICP)', async () => {
      const bytes = await gray(148).png().toBuffer();
      const chunk = Buffer.concat([Buffer.from('cICP'), Buffer.from([9, 16, 0, 1])]);
      const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
      length.writeUInt32BE(4);
      sum.writeUInt32BE(crc32(chunk));
      const afterHeader = 33;
      const pieces = [bytes.subarray(0, afterHeader), length, chunk, sum, bytes.subarray(afterHeader)];
      expectClose(await shownOf(Buffer.concat(pieces)), [230, 230, 230]);
    });

    it('does not throw if the header of an AVIF file is broken', async () => {
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
