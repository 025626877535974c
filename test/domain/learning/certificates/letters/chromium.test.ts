/** Compares names on certificates with Chromium's pictures of them (CERT-4). */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { prepareText } from '../../../../../domain/learning/certificates/letters/shaping.ts';
import { printedPicture, type Picture } from '../../../../toolkit/assert/pdf-readers.ts';
import { useBrowser } from '../../../../toolkit/stack/browser.ts';
import { printText, strip } from './printing.ts';
import { sheet } from './sheet.ts';

/** Pixels per point. */
const scale = 3;
/** In pixels. Scaled pictures coincide even if their edges differ. */
const compared = { width: 600, height: 60 } as const;
/** All names of these kinds, and two names of every other kind. */
const whole = ['Two directions', 'Mixtures', 'Other scripts of India', 'Further scripts'];
const skippedKinds = ['Very long', 'Emoji'];
const samples = [...Map.groupBy(sheet, ({ kind }) => kind)]
  .filter(([kind]) => !skippedKinds.includes(kind))
  .flatMap(([kind, of]) => (whole.includes(kind) ? of : of.slice(0, 2)));

/**
 * The certificate's fonts have the names f0, f1 and so on. Chromium uses the first font that contains the letter. Spaces keep the
 * certificate's font, because their width depends on the font.
 */
async function pageOf(text: string): Promise<{ styles: string; html: string }> {
  const usual = await prepareText('a', { style: 'bold', language: 'en', direction: 'ltr' });
  const { runs } = await prepareText(text, { style: 'bold', language: 'en', direction: 'ltr' });
  const files = new Set([...usual.runs, ...runs].map(({ font }) => font.file.path));
  const faces = [...files].map((path, index) => {
    const weights = path.endsWith('.woff2') ? '100 900' : '700';
    const url = `data:font/${path.endsWith('.woff2') ? 'woff2' : 'ttf'};base64,${readFileSync(path).toString('base64')}`;
    return `@font-face { font-family: f${index}; font-weight: ${weights}; src: url(${url}); }`;
  });
  const families = Array.from(files, (_, index) => `f${index}`).join(', ');
  const box = `margin: 0; width: ${strip.width * scale}px; height: ${strip.height * scale}px; overflow: hidden`;
  const line = `font: 700 ${strip.size * scale}px/${strip.height * scale}px ${families}`;
  const html = Array.from(text, (character, index) => {
    const run = runs.find(({ start, end }) => start <= index && index < end);
    const family = [...files].indexOf(run?.font.file.path ?? '');
    return character === ' ' ? `<span style="font-family: f${family}"> </span>` : character;
  });
  const styles = `${faces.join('\n')} body { ${box} } p { margin: 0; text-align: center; white-space: nowrap; ${line} }`;
  return { styles, html: html.join('') };
}

async function pictureInChromium(page: Page, html: string, styles: string): Promise<Picture> {
  await page.setContent(`<style>${styles}</style><p lang="en" dir="auto">${html}</p>`);
  await page.evaluate('document.fonts.ready.then(() => true)');
  const clip = { x: 0, y: 0, width: strip.width * scale, height: strip.height * scale };
  const { data, info } = await sharp(await page.screenshot({ clip }))
    .greyscale()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, data: Uint8Array.from(data) };
}

interface Ink {
  width: number;
  height: number;
  /** Scaled to the size of {@link compared}, row by row. */
  shades: number[];
}

async function inkOf({ width, height, data }: Picture): Promise<Ink> {
  const edges = { left: width, top: height, right: 0, bottom: 0 };
  data.forEach((shade, at) => {
    if (shade > 160) return;
    const [x, y] = [at % width, Math.floor(at / width)];
    Object.assign(edges, { left: Math.min(edges.left, x), right: Math.max(edges.right, x) });
    Object.assign(edges, { top: Math.min(edges.top, y), bottom: Math.max(edges.bottom, y) });
  });
  const box = {
    left: edges.left,
    top: edges.top,
    width: edges.right - edges.left + 1,
    height: edges.bottom - edges.top + 1,
  };
  const small = await sharp(data, { raw: { width, height, channels: 1 } })
    .extract(box)
    .resize(compared.width, compared.height, { fit: 'fill' })
    .blur(1.5)
    .extractChannel(0)
    .raw()
    .toBuffer();
  return { width: box.width, height: box.height, shades: Array.from(small) };
}

/** Pearson's correlation. 1 means equal, and about 0 means unrelated. */
function correlation(one: readonly number[], other: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanOne, meanOther] = [mean(one), mean(other)];
  let [product, squareOne, squareOther] = [0, 0, 0];
  one.forEach((value, index) => {
    const [a, b] = [value - meanOne, (other[index] ?? 0) - meanOther];
    product += a * b;
    squareOne += a * a;
    squareOther += b * b;
  });
  return product / Math.sqrt(squareOne * squareOther);
}

const turnedAround = (text: string) =>
  [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)]
    .map(({ segment }) => segment)
    .toReversed()
    .join('');

describe('pictures of names compared with Chromium (CERT-4)', function () {
  this.timeout(60_000);
  const open = useBrowser();
  /** Equal pictures have a higher correlation, and pictures with reversed letters have a lower one. */
  const same = 0.9;

  it('include at least twenty names', () => expect(samples.length).to.be.at.least(20));

  for (const { kind, text } of samples) {
    it(`show the letters in Chromium’s order: ${kind}, ${text}`, async () => {
      const page = await open(strip.width * scale);
      const { styles, html } = await pageOf(text.normalize('NFC'));
      const printed = await inkOf(await printedPicture(await printText(text), scale));
      const reference = await inkOf(await pictureInChromium(page, html, styles));
      const turned = await inkOf(await pictureInChromium(page, turnedAround(text.normalize('NFC')), styles));
      const similarity = correlation(printed.shades, reference.shades);
      expect(printed.width / reference.width).to.be.closeTo(1, 0.02);
      expect(similarity).to.be.above(same);
      expect(correlation(printed.shades, turned.shades)).to.be.below(same);
    });
  }
});
