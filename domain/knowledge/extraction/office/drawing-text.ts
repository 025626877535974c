/** Words of drawings (DrawingML): the texts of slides, diagrams and charts. */
import { childOf, childrenOf, descendantsOf, textOf, type XmlElement } from '../../../../platform/core/xml.ts';
import { equationText } from './equations.ts';
import { signsOf, Words, type Rise } from './words.ts';

/**
 * @param paragraph `a:p`
 * @param options.usual properties that letters have where their run does not say, the nearest first
 * @param options.onUnmapped called where a sign is left out because nobody knows it
 */
export function paragraphText(
  paragraph: XmlElement,
  { usual = [], onUnmapped = () => {} }: { usual?: readonly XmlElement[]; onUnmapped?: () => void } = {},
): string {
  const words = new Words();
  for (const child of childrenOf(paragraph)) {
    if (child.name === 'a:br') words.add('\n');
    else if (child.name === 'a:r' || child.name === 'a:fld') addRun(child);
    else if (child.name === 'a14:m' || child.name.startsWith('m:')) words.add(equationText(child));
  }
  return words.take();

  function addRun(run: XmlElement): void {
    const properties = childOf(run, 'a:rPr');
    const text = textOf(childOf(run, 'a:t'));
    const signs = signsOf(text, fontOf(properties, text));
    if (!signs.isWhole) onUnmapped();
    const baseline = [properties, ...usual].find((one) => one?.attributes['baseline'] !== undefined);
    words.add(signs.text, riseOf(baseline?.attributes['baseline']));
  }
}

/** A run has a font for letters, and one for signs that programs put in for a single sign. */
function fontOf(properties: XmlElement | undefined, text: string): string {
  const font = (name: string) => childOf(properties, name)?.attributes['typeface'];
  const isOneSign = Array.from(text.trim()).length === 1;
  return (isOneSign ? font('a:sym') : undefined) ?? font('a:latin') ?? '';
}

/** @param baseline in thousandths of a percent, or as a percentage */
function riseOf(baseline: string | undefined): Rise | undefined {
  const raisedBy = Number.parseFloat(baseline ?? '0');
  return raisedBy > 0 ? 'up' : raisedBy < 0 ? 'down' : undefined;
}

/** @returns the texts of all paragraphs below that have words */
export function paragraphTextsIn(element: XmlElement | undefined): string[] {
  return [...descendantsOf(element, 'a:p')].map((one) => paragraphText(one)).filter((text) => text.trim() !== '');
}

/** @param properties `p:cNvPr`, `wp:docPr` … @returns whether people are to take the picture for mere ornament */
export function isDecorative(properties: XmlElement | undefined): boolean {
  const [mark] = descendantsOf(properties, 'adec:decorative');
  return mark !== undefined && /^(?:1|true)$/.test(mark.attributes['val'] ?? '1');
}

/** Programs write the name of a picture's file where people have written nothing. */
const fileName = /^[^\s/]{1,200}\.(?:avif|bmp|emf|gif|jpe?g|png|svg|tiff?|webp|wmf)$/i;

/** @param properties `p:cNvPr`, `pic:cNvPr`, `wp:docPr` @returns the alternative text; empty if there is none */
export function alternativeText(properties: XmlElement | undefined): string {
  const { descr = '', title = '' } = properties?.attributes ?? {};
  const text = (descr.trim() || title.trim()).replace(/\s+/g, ' ');
  return fileName.test(text) ? '' : text;
}

/** How an alternative text stands in a passage. */
export function pictureWords(alternative: string): string {
  return ` [Picture: ${alternative}] `;
}

export function isHidden(properties: XmlElement | undefined): boolean {
  return /^(?:1|true)$/.test(properties?.attributes['hidden'] ?? '');
}
