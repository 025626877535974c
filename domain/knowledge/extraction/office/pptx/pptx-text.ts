/**
 * Reads PowerPoint files slide by slide. A slide is a page with its title, its text and the speaker's notes. Hidden slides are counted but
 * not read.
 */
import { childOf, childrenOf, descendantsOf, type XmlElement } from '../../../../../platform/core/text/xml.ts';
import { indexingRules } from '../../../indexing/indexing.policy.ts';
import type { SectionBuilder } from '../../sections.ts';
import { BrokenPart, Unreadable } from '../../unreadable.ts';
import { writeBlock, type Block, type TableRow } from '../blocks.ts';
import { alternativeText, isDecorative, isHidden, paragraphText, pictureWords } from '../drawing-text.ts';
import { blocksOfGraphic, loadGraphics, type Graphics } from '../graphics.ts';
import type { MainPart, OfficeFile } from '../office-file.ts';
import { inReadingOrder } from './pptx-order.ts';
import { SlideNumbers } from './pptx-numbers.ts';
import { SlideStyles, type Layout } from './pptx-styles.ts';

/**
 * @param onPage gets the number of slides that were read and of all slides
 * @returns the number of slides
 * @throws Unreadable too_many_pages, too_large, file_corrupt (no slide can be read)
 */
export async function readPptx(
  file: OfficeFile,
  main: MainPart,
  into: SectionBuilder,
  onPage: (slidesRead: number, total: number) => void,
): Promise<number> {
  const targets = new Map((await file.relationsOf(main.name)).map(({ id, target }) => [id, target]));
  const slides = [...childrenOf(childOf(main.root, 'p:sldIdLst'), 'p:sldId')].flatMap(({ attributes }) => {
    const target = targets.get(attributes['r:id'] ?? '');
    return target === undefined ? [] : [target];
  });
  if (slides.length > indexingRules.maxPages) throw new Unreadable('too_many_pages');
  const reader = new SlideReader(file, into);
  let broken = 0;
  for (const [at, slide] of slides.entries()) {
    into.startPage(at + 1, false);
    try {
      await reader.readSlide(slide);
    } catch (error) {
      if (!(error instanceof BrokenPart)) throw error;
      into.warn('part_skipped');
      broken += 1;
    }
    onPage(at + 1, slides.length);
  }
  if (broken > 0 && broken === slides.length) throw new Unreadable('file_corrupt');
  return slides.length;
}

/** The kinds of shapes that repeat on every slide, or that are not text of the slide. */
const furniture = new Set(['sldNum', 'dt', 'ftr', 'hdr', 'sldImg']);
const titles = new Set(['title', 'ctrTitle']);

/** The visible content of a slide, collected while it is read. */
interface Shown {
  titles: string[];
  blocks: Block[];
  pictures: { alternative: string }[];
  graphics: Graphics;
  layout: Layout;
}

class SlideReader {
  readonly #file: OfficeFile;
  readonly #into: SectionBuilder;
  readonly #styles: SlideStyles;

  constructor(file: OfficeFile, into: SectionBuilder) {
    this.#file = file;
    this.#into = into;
    this.#styles = new SlideStyles(file);
  }

  /** @throws BrokenPart */
  async readSlide(name: string): Promise<void> {
    const root = await this.#file.part(name);
    if (/^(?:0|false)$/.test(root.attributes['show'] ?? '')) return this.#into.warn('hidden_left_out');
    const relations = await this.#file.relationsOf(name);
    const layout = await this.#styles.layoutOf(relations);
    const content = await this.#read({ root, relations, layout });
    for (const title of content.titles) writeBlock({ kind: 'heading', level: 1, text: title }, this.#into);
    for (const block of content.blocks) writeBlock(block, this.#into);
    this.#warnOfPictures(content, childOf(root, 'p:cSld', 'p:bg', 'p:bgPr', 'a:blipFill') !== undefined);
    const notes = relations.find(({ type }) => type === 'notesSlide');
    if (notes) await this.#readNotes(notes.target);
  }

  async #readNotes(name: string): Promise<void> {
    const root = await this.#file.partBeside(name);
    if (!root) return;
    const { titles: first, blocks } = await this.#read({ root, relations: [], layout: this.#styles.none });
    for (const text of first) writeBlock({ kind: 'row', text }, this.#into);
    for (const block of blocks) writeBlock(block, this.#into);
  }

  async #read(slide: {
    root: XmlElement;
    relations: Parameters<typeof loadGraphics>[1]['relations'];
    layout: Layout;
  }): Promise<Shown> {
    const graphics = await loadGraphics(this.#file, slide, this.#into);
    const content: Shown = { titles: [], blocks: [], pictures: [], graphics, layout: slide.layout };
    this.#readShapes(childOf(slide.root, 'p:cSld', 'p:spTree'), content);
    return content;
  }

  #readShapes(tree: XmlElement | undefined, content: Shown): void {
    for (const shape of inReadingOrder([...childrenOf(tree)], content.layout)) {
      const properties = propertiesOf(shape);
      if (isHidden(properties)) {
        if (descendantsOf(shape, 'a:t', 'c:chart', 'dgm:relIds').next().value) this.#into.warn('hidden_left_out');
      } else if (shape.name === 'p:grpSp') this.#readShapes(shape, content);
      else if (shape.name === 'p:sp') this.#readText(shape, content, properties);
      else if (shape.name === 'p:pic') this.#readPicture(shape, content, properties);
      else if (shape.name === 'p:graphicFrame') this.#readFrame(shape, content);
      else if (shape.name === 'p:contentPart') this.#into.warn('part_skipped');
    }
  }

  #readText(shape: XmlElement, content: Shown, properties: XmlElement | undefined): void {
    const placeholder = childOf(shape, 'p:nvSpPr', 'p:nvPr', 'p:ph');
    const type = placeholder && (placeholder.attributes['type'] ?? 'body');
    if (furniture.has(type ?? '')) return;
    const texts = this.#textsOf(childOf(shape, 'p:txBody'), content.layout, placeholder);
    if (titles.has(type ?? '')) {
      if (texts.length > 0) content.titles.push(texts.join(' '));
    } else for (const text of texts) content.blocks.push({ kind: 'row', text });
    if (texts.length === 0 && childOf(shape, 'p:spPr', 'a:blipFill')) this.#readPicture(shape, content, properties);
  }

  /** @param body `p:txBody` or `a:txBody` @returns the paragraphs with words, each with its number if it is in a list */
  #textsOf(body: XmlElement | undefined, layout: Layout, place?: XmlElement): string[] {
    const numbers = new SlideNumbers();
    const onUnmapped = () => this.#into.warn('letters_unmapped');
    return [...childrenOf(body, 'a:p')].flatMap((paragraph) => {
      const usual = this.#styles.ofParagraph(paragraph, { body, layout, place });
      const letters = usual.flatMap((one) => [...childrenOf(one, 'a:defRPr')]);
      const text = paragraphText(paragraph, { usual: letters, onUnmapped }).trim();
      return text === '' ? [] : [numbers.next(paragraph, usual) + text];
    });
  }

  #readPicture(shape: XmlElement, content: Shown, properties: XmlElement | undefined): void {
    const alternative = alternativeText(properties);
    const isMedia = [...childrenOf(childOf(shape, 'p:nvPicPr', 'p:nvPr'))].some(({ name }) =>
      /^a:(?:video|audio|quickTime|wavAudio)File$|^a:audioCd$/.test(name),
    );
    if (isMedia) this.#into.warn('part_skipped');
    if (alternative !== '' && !isDecorative(properties))
      content.blocks.push({ kind: 'row', text: pictureWords(alternative) });
    if (!isMedia && !isDecorative(properties)) content.pictures.push({ alternative });
  }

  /** Reads a frame, which contains a table, a chart, a diagram or an embedded document. */
  #readFrame(frame: XmlElement, content: Shown): void {
    const data = childOf(frame, 'a:graphic', 'a:graphicData');
    for (const child of childrenOf(data)) {
      const graphic = blocksOfGraphic(child, content.graphics);
      if (graphic) content.blocks.push(...graphic);
      else if (child.name === 'a:tbl')
        content.blocks.push({ kind: 'table', rows: this.#rowsOf(child, content.layout) });
      else this.#into.warn('part_skipped');
    }
  }

  #rowsOf(table: XmlElement, layout: Layout): TableRow[] {
    const marksFirst = isTrue(childOf(table, 'a:tblPr')?.attributes['firstRow']);
    return [...childrenOf(table, 'a:tr')].map((row, at) => ({
      isHeader: marksFirst && at === 0,
      cells: [...childrenOf(row, 'a:tc')]
        .filter(({ attributes }) => !isTrue(attributes['hMerge']) && !isTrue(attributes['vMerge']))
        .map((cell) => ({
          text: this.#textsOf(childOf(cell, 'a:txBody'), layout).join(' '),
          colspan: Number(cell.attributes['gridSpan'] ?? '1'),
          rowspan: Number(cell.attributes['rowSpan'] ?? '1'),
        })),
    }));
  }

  /** Warns about a slide with only pictures, because they may contain words. */
  #warnOfPictures({ titles: heads, blocks, pictures }: Shown, hasBackground: boolean): void {
    const alternatives = blocks.filter((block) => block.kind === 'row' && block.text.startsWith(pictureStart)).length;
    if (heads.length === 0 && blocks.length === alternatives && (pictures.length > 0 || hasBackground))
      this.#into.warn('page_is_a_picture');
    else for (const { alternative } of pictures) if (alternative === '') this.#into.warn('picture_without_text');
  }
}

const pictureStart = pictureWords('').slice(0, -2).trimEnd();

/** @returns the element with the name, the alternative text and the visibility of the shape */
function propertiesOf(shape: XmlElement): XmlElement | undefined {
  const [own] = [...childrenOf(shape)].filter(({ name }) => /^p:nv\w{1,20}Pr$/.test(name));
  return childOf(own, 'p:cNvPr');
}

function isTrue(value: string | undefined): boolean {
  return /^(?:1|true)$/.test(value ?? '');
}
