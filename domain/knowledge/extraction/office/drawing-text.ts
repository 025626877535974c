/** Reads the words of drawings (DrawingML), which contain the texts of slides, diagrams and charts. */
import { childOf, childrenOf, descendantsOf, textOf, type XmlElement } from '../../../../platform/core/text/xml.ts';
import { equationText } from './equations.ts';
import { signsOf, Words, type Rise } from './words.ts';

/**
 * @param paragraph `a:p`
 * @param options.usual the properties that a text run inherits if it does not set them, with the nearest first
 * @param options.onUnmapped called when a sign is left out because its meaning is unknown
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

/** A run has one font for letters and one for signs. Programs set the font for signs if they insert a single sign. */
function fontOf(properties: XmlElement | undefined, text: string): string {
  const font = (name: string) => childOf(properties, name)?.attributes['typeface'];
  const isOneSign = Array.from(text.trim()).length === 1;
  return (isOneSign ? font('a:sym') : undefined) ?? font('a:latin') ?? '';
}

function riseOf(baseline: string | undefined): Rise | undefined {
  const raisedBy = Number.parseFloat(baseline ?? '0');
  return raisedBy > 0 ? 'up' : raisedBy < 0 ? 'down' : undefined;
}

/** @returns the texts of all paragraphs inside the element that have words */
export function paragraphTextsIn(element: XmlElement | undefined): string[] {
  return [...descendantsOf(element, 'a:p')].map((one) => paragraphText(one)).filter((text) => text.trim() !== '');
}

/** @param properties `p:cNvPr`, `wp:docPr` … @returns whether the picture is marked as decorative */
export function isDecorative(properties: XmlElement | undefined): boolean {
  const [mark] = descendantsOf(properties, 'adec:decorative');
  return mark !== undefined && /^(?:1|true)$/.test(mark.attributes['val'] ?? '1');
}

/** If the author wrote no alternative text, programs use the file name of the picture. Such a text is ignored. */
const fileName = /^[^\s/]{1,200}\.(?:avif|bmp|emf|gif|jpe?g|png|svg|tiff?|webp|wmf)$/i;

/** @param properties `p:cNvPr`, `pic:cNvPr`, `wp:docPr` @returns the alternative text; empty if there is none */
export function alternativeText(properties: XmlElement | undefined): string {
  const { descr = '', title = '' } = properties?.attributes ?? {};
  const text = (descr.trim() || title.trim()).replace(/\s+/g, ' ');
  return fileName.test(text) ? '' : text;
}

/** Returns an alternative text in the form in which passages contain it. */
export function pictureWords(alternative: string): string {
  return ` [Picture: ${alternative}] `;
}

export function isHidden(properties: XmlElement | undefined): boolean {
  return /^(?:1|true)$/.test(properties?.attributes['hidden'] ?? '');
}
