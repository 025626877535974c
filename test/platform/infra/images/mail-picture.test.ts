/** Tests how images become pictures for e-mails (DEC-157). */
import { expect } from 'chai';
import sharp from 'sharp';
import { makeMailPicture, type MailPicture } from '../../../../platform/infra/images/mail-picture.ts';
import { apngOf, gifOf } from '../../../toolkit/builders/animations.ts';

const plain = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: { r: 200, g: 30, b: 30, alpha: 0.5 } } });
const svg = (attributes: string, drawn = '<rect width="100%" height="100%" fill="red"/>') =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" ${attributes}>${drawn}</svg>`);
/** No compression can make random pixels small. */
const noise = (width: number, height: number, channels: 3 | 4) => {
  let state = 1;
  const pixels = Buffer.alloc(width * height * channels);
  for (let at = 0; at < pixels.length; at++) {
    state = Math.imul(state, 1_664_525) + 1_013_904_223;
    pixels[at] = state >>> 24;
  }
  return sharp(pixels, { raw: { width, height, channels } });
};
const shapeOf = (result: MailPicture | string) =>
  typeof result === 'string' ? result : [result.type, result.width, result.height, result.standsStill];

describe('the picture of an image for e-mails', () => {
  for (const [what, image, expected] of [
    [
      'a photo with an orientation tag',
      plain(300, 100).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
      ['image/jpeg', 100, 300, false],
    ],
    ['a large photo', plain(3_000, 1_500).jpeg().toBuffer(), ['image/jpeg', 1_200, 600, false]],
    ['an icon', plain(24, 24, 4).png().toBuffer(), ['image/png', 24, 24, false]],
    ['a JPEG in CMYK', plain(60, 40).toColourspace('cmyk').jpeg().toBuffer(), ['image/jpeg', 60, 40, false]],
    ['a PNG of 16 bits', plain(60, 40, 4).toColourspace('rgb16').png().toBuffer(), ['image/png', 60, 40, false]],
    ['an AVIF', plain(60, 40).avif().toBuffer(), ['image/jpeg', 60, 40, false]],
    ['a PNG of 49 megapixels', plain(7_000, 7_000).png().toBuffer(), ['image/jpeg', 1_200, 1_200, false]],
    ['a drawing that has a view box but no width and height', svg('viewBox="0 0 48 24"'), ['image/png', 48, 24, false]],
    [
      'a drawing whose size is in percent',
      svg('width="100%" height="100%" viewBox="0 0 48 24"'),
      ['image/png', 48, 24, false],
    ],
    ['a drawing whose size is in centimeters', svg('width="2.54cm" height="2.54cm"'), ['image/png', 72, 72, false]],
    [
      'a drawing without a size, which gets the size of its shapes',
      svg('', '<rect width="30" height="20"/>'),
      ['image/png', 30, 20, false],
    ],
    ['an animated GIF', gifOf({ width: 800, height: 400, pictures: 3 }), ['image/gif', 600, 300, false]],
    ['an animated GIF that is small', gifOf({ width: 24, height: 12, pictures: 3 }), ['image/gif', 24, 12, false]],
    [
      'an animated WEBP',
      gifOf({ width: 40, height: 20, pictures: 3 }).then((gif) => sharp(gif, { animated: true }).webp().toBuffer()),
      ['image/gif', 40, 20, false],
    ],
    [
      'an animated PNG, of which only the first frame remains',
      apngOf({ width: 40, height: 20 }),
      ['image/jpeg', 40, 20, true],
    ],
    ['an animation of more than 500 frames', gifOf({ width: 4, height: 4, pictures: 501 }), ['image/png', 4, 4, true]],
    [
      'an animation of more than 50 megapixels',
      gifOf({ width: 2_000, height: 1_500, pictures: 17 }),
      ['image/png', 1_200, 900, true],
    ],
  ] as const) {
    it(`is ${expected.slice(0, 3).join(' ')} for ${what}`, async () => {
      expect(shapeOf(await makeMailPicture(await image))).to.deep.equal(expected);
    });
  }

  for (const [what, image, problem] of [
    ['nothing', Buffer.alloc(0), 'image_unreadable'],
    ['text', Buffer.from('no image'), 'image_unreadable'],
    [
      'a truncated PNG',
      noise(200, 200, 3)
        .png()
        .toBuffer()
        .then((whole) => whole.subarray(0, 50_000)),
      'image_unreadable',
    ],
    ['a drawing with a size of zero', svg('width="0" height="0"'), 'image_unreadable'],
    ['a drawing that states no size', svg(''), 'image_unreadable'],
    ['a drawing that is too wide for the SVG renderer', svg('width="40000" height="1"'), 'image_unreadable'],
    ['a drawing of 81 megapixels', svg('width="9000" height="9000"'), 'image_too_large'],
    ['a PNG of 56 megapixels', plain(8_000, 7_000).png().toBuffer(), 'image_too_large'],
    [
      'a JPEG of 20 megapixels that cannot be compressed enough',
      noise(1_200, 16_000, 3).jpeg().toBuffer(),
      'image_too_heavy',
    ],
  ] as const) {
    it(`is refused as ${problem} for ${what}`, async () => {
      expect(shapeOf(await makeMailPicture(await image))).to.equal(problem);
    });
  }

  it('keeps the delays and the loop count of an animation', async () => {
    const result = await makeMailPicture(await gifOf({ width: 800, height: 400, pictures: 3 }));
    const { pages, delay, loop, pageHeight } = await sharp(typeof result === 'string' ? undefined : result.bytes, {
      animated: true,
    }).metadata();
    expect({ pages, delay, loop, pageHeight }).to.deep.equal({
      pages: 3,
      delay: [100, 200, 300],
      loop: 4,
      pageHeight: 300,
    });
  });

  it('is only the first frame of an animation that is too large', async () => {
    const gif = await gifOf({ width: 80, height: 40, pictures: 3 });
    expect(shapeOf(await makeMailPicture(gif, { bounds: { mostBytes: 250 } }))).to.deep.equal([
      'image/png',
      80,
      40,
      true,
    ]);
  });

  it('has fewer colors if it is transparent and too large', async () => {
    const result = await makeMailPicture(await noise(200, 200, 4).png().toBuffer(), { bounds: { mostBytes: 100_000 } });
    expect(shapeOf(result)).to.deep.equal(['image/png', 200, 200, false]);
    expect((await sharp(typeof result === 'string' ? undefined : result.bytes).metadata()).isPalette).to.equal(true);
  });
});
