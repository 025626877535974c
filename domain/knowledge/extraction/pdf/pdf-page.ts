/** Reads one page of a PDF: the blocks, the lines in other directions, the pictures, and warnings about unreadable content. */
import type { PDFDocumentProxy, PDFPageProxy } from 'pdfjs-dist';
import type { SourceWarningCode } from '../../../../entities/knowledge/values.ts';
import type { Block } from './blocks.ts';
import { directionsOf, isWatermark, placedBoxes, type Direction } from './letters/directions.ts';
import { blocksOf } from './page-blocks.ts';
import { drawingOf, type Drawing, type Box, type PageSource, type Picture } from './pdf-drawing.ts';
import { loadPdfEngine } from './pdf-engine.ts';
import type { FontCodes } from './letters/pdf-letters.ts';
import { linesOf, type Line } from './letters/pdf-lines.ts';
import { shownValues, withValues, type Annotation } from './shown-values.ts';
import { taggedBlocks, type TagNode } from './tagged-blocks.ts';

export interface Page {
  blocks: Block[];
  /** Lines in directions other than the main direction. */
  asides: Line[];
  /**
   * The pictures of the page, if the page has no structure information. Such pictures may have no alternative text. If the page has
   * structure information, the list is empty, because the structure shows which pictures have no alternative text.
   */
  pictures: Picture[];
  warnings: SourceWarningCode[];
  length: number;
}

export interface PdfReader {
  readPage: (number: number) => Promise<Page>;
}

/** @returns a function that reads the pages of the document, one after another */
export async function pdfReader(document: PDFDocumentProxy): Promise<PdfReader> {
  const { OPS: ops, AnnotationMode } = await loadPdfEngine();
  const optional = await document.getOptionalContentConfig();
  const codes = new Map<string, FontCodes>();

  async function draw(page: PDFPageProxy): Promise<Drawing> {
    const { fnArray, argsArray } = await page.getOperatorList({ annotationMode: AnnotationMode.DISABLE });
    const fonts = page.commonObjs as { has: (name: string) => boolean; get: (name: string) => unknown };
    return drawingOf({
      ops,
      fnArray,
      argsArray,
      view: page.view,
      rotate: page.rotate,
      fontOf: (name) => (fonts.has(name) ? (fonts.get(name) as ReturnType<PageSource['fontOf']>) : undefined),
      isShown: (group) => Boolean(optional.isVisible(group as never)),
      codes,
    });
  }

  return {
    async readPage(number) {
      const page = await document.getPage(number);
      const drawing = await draw(page);
      const annotations = (await page.getAnnotations({ intent: 'display' })) as Annotation[];
      const tags = ((await page.getStructTree()) ?? undefined) as TagNode | undefined;
      page.cleanup();
      return pageOf(drawing, annotations, tags, shownPlace(page));
    },
  };
}

/** Converts the coordinates of the file, which annotations use, to the coordinates of the page as shown. */
function shownPlace({ view, rotate }: PDFPageProxy): (x: number, y: number) => [number, number] {
  const [left = 0, bottom = 0, right = 0, top = 0] = view;
  switch (((rotate % 360) + 360) % 360) {
    case 90:
      return (x, y) => [y - bottom, right - x];
    case 180:
      return (x, y) => [right - x, top - y];
    case 270:
      return (x, y) => [top - y, x - left];
    default:
      return (x, y) => [x - left, y - bottom];
  }
}

function pageOf(
  drawing: Drawing,
  annotations: readonly Annotation[],
  tags: TagNode | undefined,
  shown: (x: number, y: number) => readonly [number, number],
): Page {
  const [main, ...others] = directionsOf(drawing.glyphs);
  const isRead = main !== undefined && !isWatermark(main, main);
  const direction: Direction = isRead ? main : { glyphs: [], place: (x, y) => [x, y], isSlanted: false };
  const values = shownValues(annotations, (x, y) => direction.place(...shown(x, y)));
  const tagged = tags && taggedPage(tags, drawing, direction, values);
  const blocks = tagged?.blocks ?? untagged(drawing, direction, [...values.values()].flat());
  const asides = others
    .filter((other) => !isWatermark(other, direction))
    .flatMap((other) => linesOf(other.glyphs.filter(({ isArtifact }) => !tagged || !isArtifact)));
  const length = drawing.glyphs.length + [...values.values()].flat().reduce((sum, { text }) => sum + text.length, 0);
  const warnings: SourceWarningCode[] = [];
  if (drawing.hasUnmapped) warnings.push('letters_unmapped');
  if (drawing.hasHidden) warnings.push('hidden_left_out');
  for (const { subtype } of annotations) if (subtype === 'FileAttachment') warnings.push('part_skipped');
  for (let untold = tagged?.untold ?? 0; untold > 0; untold--) warnings.push('picture_without_text');
  if (length === 0 && !drawing.hasUnmapped && showsSomething(drawing)) warnings.push('page_is_a_picture');
  return {
    blocks,
    asides,
    pictures: length === 0 || tagged ? [] : picturesBesideText(drawing),
    warnings,
    length,
  };
}

function untagged(drawing: Drawing, { glyphs, place }: Direction, values: readonly Line[]): Block[] {
  const rules = placedBoxes(drawing.rules, place);
  const upright = rules.filter(({ width, height }) => height > width);
  return blocksOf(withValues(linesOf(glyphs, upright), values), rules);
}

function taggedPage(root: TagNode, drawing: Drawing, { glyphs }: Direction, values: ReadonlyMap<string, Line[]>) {
  const read = taggedBlocks({ root, glyphs, pictures: drawing.pictures, values });
  return read && { blocks: read.blocks, untold: read.untold };
}

/** A page with fewer shapes and without pictures counts as empty, because an empty sheet may have some lines. */
const manyShapes = 8;

function showsSomething({ pictures, shapes }: Drawing): boolean {
  return pictures.length > 0 || shapes >= manyShapes;
}

/** In points, and as a share of the page. Smaller pictures are ornaments. */
const leastSide = 36;
const leastShare = 0.01;

function picturesBesideText({ pictures, glyphs, width, height }: Drawing): Picture[] {
  const unseen = glyphs.filter(({ isUnseen }) => isUnseen);
  return pictures.filter((picture) => {
    const share = (picture.width * picture.height) / (width * height);
    if (Math.min(picture.width, picture.height) < leastSide || share < leastShare) return false;
    return !unseen.some((glyph) => isInside(glyph, picture));
  });
}

/** OCR draws the letters that it recognizes over the picture that contains them. */
function isInside({ x, y }: { x: number; y: number }, box: Box): boolean {
  return x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
}
