/** Images that are whole, cut short or damaged, of every type. */
import { expect } from 'chai';
import fc from 'fast-check';
import { measureImage } from '../../../domain/media/image.ts';
import type { ImageType } from '../../../domain/media/media.policy.ts';
import { gif, jpeg, png, pngChunk, webp } from '../../toolkit/builders/pictures.ts';

const pictures: Record<ImageType, (width: number, height: number) => Buffer> = {
  'image/png': png,
  'image/jpeg': jpeg,
  'image/gif': gif,
  'image/webp': webp,
};
const types = Object.keys(pictures) as ImageType[];
const side = fc.integer({ min: 1, max: 16_000 });

describe('a complete image', () => {
  it('is measured with the width and height that it was made with', () => {
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

  it('may be followed by other bytes, as cameras write them', () => {
    for (const type of types) {
      const bytes = Buffer.concat([pictures[type](4, 5), Buffer.from('ftypmp42 and a film')]);
      expect(measureImage(type, bytes), type).to.deep.equal({ width: 4, height: 5, isAnimated: false });
    }
  });
});

describe('an incomplete image', () => {
  it('is not measured if it is cut at any byte', () => {
    for (const type of types) {
      const bytes = pictures[type](300, 200);
      for (let length = 0; length < bytes.length; length++)
        expect(measureImage(type, bytes.subarray(0, length)), `${type} ${length}`).to.equal(undefined);
    }
  });

  it('is not measured if a bit of a PNG is flipped after the signature', () => {
    const bytes = png(3, 3);
    for (let at = 8; at < bytes.length; at++) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      expect(measureImage('image/png', damaged), String(at)).to.equal(undefined);
    }
  });

  it('is not measured if it holds no picture', () => {
    expect(measureImage('image/gif', gif(2, 2, 0))).to.equal(undefined);
    const header = png(3, 3).subarray(0, 33);
    expect(measureImage('image/png', Buffer.concat([header, pngChunk('IEND', Buffer.alloc(0))]))).to.equal(undefined);
    expect(measureImage('image/jpeg', Buffer.from('ffd8ffd9', 'hex'))).to.equal(undefined);
  });

  it('never makes measuring throw, whatever its bytes', () => {
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
