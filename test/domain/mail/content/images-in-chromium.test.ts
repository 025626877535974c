/** Tests the widths of an e-mail's images on laptops and phones (DEC-158). */
import { expect } from 'chai';
import sharp from 'sharp';
import { compileEmail } from '../../../../domain/mail/content/compile.ts';
import { renderEmail } from '../../../../domain/mail/content/render.ts';
import { overhang, useBrowser } from '../../../toolkit/stack/browser.ts';

const sizes = { icon: 24, photo: 300, wide: 1_200 } as const;
const blocks = Object.keys(sizes).map((id) => ({
  kind: 'image' as const,
  media_id: id,
  alt: id,
  url: 'https://a.example',
}));

describe('images of an e-mail in Chromium', () => {
  const open = useBrowser();
  const shownAt = async (width: number) => {
    const email = await compileEmail(
      { subject: 'x', blocks },
      { clubName: 'Knots', postalAddress: 'Quay 1', language: 'en' },
      sizes,
    );
    const files = await Promise.all(
      email.images.map(async (id) => {
        const side = sizes[id as keyof typeof sizes];
        const image = sharp({ create: { width: side, height: side, channels: 3, background: 'teal' } });
        return `data:image/png;base64,${(await image.png().toBuffer()).toString('base64')}`;
      }),
    );
    const { html } = renderEmail(email, {
      values: {},
      linkUrl: () => 'https://a.example',
      imageUrl: (image) => files[image] ?? '',
      unsubscribeUrl: '#',
    });
    const page = await open(width);
    await page.setContent(html);
    const shown = await page.evaluate<[string, number, number][]>(
      `[...document.querySelectorAll('img')].map((image) => [image.alt, image.width, image.height])`,
    );
    return { shown, overhang: await overhang(page) };
  };

  it('have their original width, but at most the width of the column', async () => {
    expect(await shownAt(600)).to.deep.equal({
      shown: [
        ['icon', 24, 24],
        ['photo', 300, 300],
        ['wide', 550, 550],
      ],
      overhang: 0,
    });
  });

  it('fit into the screen of a phone, and are not enlarged', async () => {
    expect(await shownAt(360)).to.deep.equal({
      shown: [
        ['icon', 24, 24],
        ['photo', 300, 300],
        ['wide', 310, 310],
      ],
      overhang: 0,
    });
  });
});
