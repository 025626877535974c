/** Tests complete, cut and damaged images of every type. */
import { expect } from 'chai';
import fc from 'fast-check';
import sharp from 'sharp';
import { isRotated } from '../../../../domain/media/formats/exif.ts';
import { imageTypeOf, measureImage } from '../../../../domain/media/formats/image.ts';
import type { ImageType } from '../../../../domain/media/media.policy.ts';
import { gif, jpeg, png, pngChunk, webp } from '../../../toolkit/builders/pictures.ts';

const pictures: Record<ImageType, (width: number, height: number) => Buffer> = {
  'image/png': png,
  'image/jpeg': jpeg,
  'image/gif': gif,
  'image/webp': webp,
};
const types = Object.keys(pictures) as ImageType[];
const side = fc.integer({ min: 1, max: 16_000 });

describe('a complete image', () => {
  it('has its real width and height', () => {
    fc.assert(
      fc.property(fc.constantFrom(...types), side, side, (type, width, height) => {
        expect(measureImage(type, pictures[type](width, height))).to.deep.equal({ width, height, isAnimated: false });
      }),
      { numRuns: 100 },
    );
  });

  it('is animated if it has a second picture', () => {
    expect(measureImage('image/gif', gif(2, 2, 1))?.isAnimated).to.equal(false);
    expect(measureImage('image/gif', gif(2, 2, 2))?.isAnimated).to.equal(true);
    expect(measureImage('image/png', png(2, 2, { animated: true }))?.isAnimated).to.equal(true);
    expect(measureImage('image/webp', webp(2, 2, true))?.isAnimated).to.equal(true);
  });

  it('may be followed by other bytes', () => {
    for (const type of types) {
      const bytes = Buffer.concat([pictures[type](4, 5), Buffer.from('ftypmp42 and a film')]);
      expect(measureImage(type, bytes), type).to.deep.equal({ width: 4, height: 5, isAnimated: false });
    }
  });
});

describe('a rotated photo', () => {
  for (const format of ['jpeg', 'png', 'webp'] as const)
    it(`has the size after its rotation: ${format}, in each of the eight orientations`, async () => {
      const sizes = [];
      for (let orientation = 1; orientation <= 8; orientation++) {
        const lying = sharp({ create: { width: 40, height: 20, channels: 3, background: 'teal' } });
        const bytes = await lying.withMetadata({ orientation }).toFormat(format).toBuffer();
        const { width, height } = measureImage(`image/${format}`, bytes) ?? {};
        sizes.push([width, height]);
      }
      const [lying, standing] = [
        [40, 20],
        [20, 40],
      ];
      expect(sizes).to.deep.equal([lying, lying, lying, lying, standing, standing, standing, standing]);
    });

  const entry = '0112000300000001';
  const exifs: Readonly<Record<string, [string, boolean]>> = {
    'big-endian, with the mark': ['457869660000 4d4d002a00000008 0001 0112000300000001 00060000', true],
    'little-endian, without the mark': ['49492a0008000000 0100 1201030001000000 08000000', true],
    'after another entry': [`4d4d002a00000008 0002 0100000300000001 00060000 ${entry} 00050000`, true],
    'upside down': [`4d4d002a00000008 0001 ${entry} 00030000`, false],
    'with an unknown orientation': [`4d4d002a00000008 0001 ${entry} 00090000`, false],
    'of another type': ['4d4d002a00000008 0001 0112000400000001 00000006', false],
    'without an orientation': ['4d4d002a00000008 0001 0100000300000001 00060000', false],
    'that ends too early': [`4d4d002a00000008 0001 ${entry}`, false],
    'with an offset beyond its end': [`4d4d002affffffff 0001 ${entry} 00060000`, false],
    'of no order': [`5858002a00000008 0001 ${entry} 00060000`, false],
    'without data': ['', false],
  };
  for (const [title, [hex, is]] of Object.entries(exifs))
    it(`${is ? 'is turned' : 'is not turned'} by Exif ${title}`, () => {
      expect(isRotated(Buffer.from(hex.replaceAll(' ', ''), 'hex'))).to.equal(is);
    });
});

describe('an image with wrong data', () => {
  it('is refused if a part of the image ends after the end of the file', () => {
    const lying: [ImageType, Buffer, number, number][] = [
      ['image/png', png(3, 3), 8, 0x7f], // the length of IHDR
      ['image/png', png(3, 3, { extra: 9 }), 33, 0x7f],
      ['image/jpeg', jpeg(3, 3), 4, 0xff],
      ['image/gif', gif(3, 3), 10, 0xff], // a colour table
      ['image/webp', webp(3, 3), 7, 0x7f],
      ['image/webp', webp(3, 3), 19, 0x7f],
      ['image/webp', webp(3, 3), 37, 0x7f], // the chunk of the picture, which is the last chunk
    ];
    for (const [type, bytes, at, value] of lying) {
      expect(measureImage(type, bytes), type).to.deep.equal({ width: 3, height: 3, isAnimated: false });
      bytes[at] = value;
      expect(measureImage(type, bytes), `${type} ${at}`).to.equal(undefined);
    }
  });

  it('is refused if its size is missing or zero', () => {
    expect(measureImage('image/png', png(0, 3))).to.equal(undefined);
    expect(measureImage('image/gif', gif(3, 0))).to.equal(undefined);
    expect(measureImage('image/jpeg', jpeg(3, 0))).to.equal(undefined);
    const frame = jpeg(3, 3).indexOf(Buffer.from([0xff, 0xc0]));
    const frameless = jpeg(3, 3);
    frameless[frame + 1] = 0xc4; // a table
    expect(measureImage('image/jpeg', frameless)).to.equal(undefined);
  });

  it('is refused with more than 16,384 parts', () => {
    const many: [ImageType, Buffer, Buffer, number][] = [
      ['image/png', png(3, 3), pngChunk('tEXt', Buffer.alloc(0)), 33],
      ['image/jpeg', jpeg(3, 3), Buffer.from([0xff, 0xe1, 0, 2]), 2],
      ['image/gif', gif(3, 3), Buffer.from([0x21, 0xfe, 0]), 19],
      ['image/webp', webp(3, 3), Buffer.from('EXIF\0\0\0\0', 'latin1'), 30],
    ];
    for (const [type, bytes, part, at] of many) {
      const withParts = (count: number) => {
        const parts = Array.from({ length: count }, () => part);
        const whole = Buffer.concat([bytes.subarray(0, at), ...parts, bytes.subarray(at)]);
        if (type === 'image/webp') whole.writeUInt32LE(whole.length - 8, 4); // the container states the length
        return whole;
      };
      expect(measureImage(type, withParts(16_000)), type).to.deep.equal({ width: 3, height: 3, isAnimated: false });
      expect(measureImage(type, withParts(16_384)), type).to.equal(undefined);
    }
  });

  it('is recognized by its first bytes', () => {
    for (const type of types) {
      const head = pictures[type](3, 3);
      expect(imageTypeOf(head)).to.equal(type);
      expect(imageTypeOf(head.subarray(0, 2))).to.equal(undefined);
    }
    expect(imageTypeOf(Buffer.from('RIFF\0\0\0\0WAVE', 'latin1'))).to.equal(undefined);
  });

  it('is not a simple WebP image, lossy or lossless', () => {
    const simple = (name: string, data: string) => {
      const bytes = Buffer.from(`RIFF____WEBP${name}____${'\0'.repeat(data.length / 2)}`, 'latin1');
      bytes.writeUInt32LE(bytes.length - 8, 4);
      bytes.writeUInt32LE(data.length / 2, 16);
      bytes.write(data, 20, 'hex');
      return bytes;
    };
    const lossy = simple('VP8 ', '3001009d012a04000200');
    const lossless = simple('VP8L', '2f034000000000000000');
    expect(measureImage('image/webp', lossy)).to.deep.equal({ width: 4, height: 2, isAnimated: false });
    expect(measureImage('image/webp', lossless)).to.deep.equal({ width: 4, height: 2, isAnimated: false });
  });
});

describe('an incomplete image', () => {
  it('is refused if it is cut at any byte', () => {
    for (const type of types) {
      const bytes = pictures[type](300, 200);
      for (let length = 0; length < bytes.length; length++)
        expect(measureImage(type, bytes.subarray(0, length)), `${type} ${length}`).to.equal(undefined);
    }
  });

  it('is refused if a bit of a PNG is flipped after the signature', () => {
    const bytes = png(3, 3);
    for (let at = 8; at < bytes.length; at++) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      expect(measureImage('image/png', damaged), String(at)).to.equal(undefined);
    }
  });

  it('is refused if it contains no picture', () => {
    expect(measureImage('image/gif', gif(2, 2, 0))).to.equal(undefined);
    const header = png(3, 3).subarray(0, 33);
    expect(measureImage('image/png', Buffer.concat([header, pngChunk('IEND', Buffer.alloc(0))]))).to.equal(undefined);
    expect(measureImage('image/jpeg', Buffer.from('ffd8ffd9', 'hex'))).to.equal(undefined);
  });

  it('never causes an exception', () => {
    const marks = types.map((type) => pictures[type](9, 9).subarray(0, 20));
    fc.assert(
      fc.property(
        fc.constantFrom(...types),
        fc.constantFrom(...marks),
        fc.uint8Array({ maxLength: 400 }),
        (type, mark, rest) => {
          const measured = measureImage(type, Buffer.concat([mark, rest]));
          if (measured) expect(Math.min(measured.width, measured.height)).to.be.at.least(1);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
