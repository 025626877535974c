/**
 * Reads Word files as they appear after all tracked changes are accepted. Headers, footers and comments are left out. A footnote follows
 * the paragraph that refers to it. Endnotes are at the end.
 */
import { childOf, childrenOf, descendantsOf, textOf, type XmlElement } from '../../../../../platform/core/text/xml.ts';
import type { SectionBuilder } from '../../sections.ts';
import { textOfBlocks, writeBlock, type Block } from '../blocks.ts';
import { DocxFields } from './docx-fields.ts';
import { Notes, type Note, type NoteKind } from './docx-notes.ts';
import { Numbering } from './docx-numbering.ts';
import { isOn, isTrue, Styles } from './docx-styles.ts';
import { tableRowsOf } from './docx-table.ts';
import { alternativeText, isDecorative, isHidden, paragraphTextsIn, pictureWords } from '../drawing-text.ts';
import { equationText } from '../equations.ts';
import { blocksOfGraphic, loadGraphics, type Graphics } from '../graphics.ts';
import type { MainPart, OfficeFile } from '../office-file.ts';
import { signsOf, Words, type Rise } from '../words.ts';

/** @throws Unreadable too_large, file_corrupt */
export async function readDocx(file: OfficeFile, main: MainPart, into: SectionBuilder): Promise<void> {
  const relations = await file.relationsOf(main.name);
  const partOf = (type: string) => file.onlyPart(main.name, relations, type);
  const styles = new Styles(await partOf('styles'));
  const numbering = new Numbering(await partOf('numbering'), styles);
  const body = childOf(main.root, 'w:body');
  const parts = {
    footnote: await partOf('footnotes'),
    endnote: await partOf('endnotes'),
    settings: await partOf('settings'),
  };
  const notes = new Notes(parts, childOf(body, 'w:sectPr'));
  const graphics = await loadGraphics(file, { root: main.root, relations }, into);
  const reader = new DocxReader({ styles, numbering, notes, graphics, into });
  for (const block of reader.blocksIn(body)) {
    writeBlock(block, into);
    for (const note of notes.take('footnote')) writeNote(note);
  }
  for (const kind of ['footnote', 'endnote'] as const) for (const note of notes.take(kind)) writeNote(note);

  function writeNote({ mark, contents }: Note): void {
    let before = mark === '' ? '' : `[${mark}] `;
    for (const block of reader.blocksIn(contents)) {
      writeBlock(before === '' || block.kind === 'table' ? block : { kind: 'prose', text: before + block.text }, into);
      before = '';
    }
  }
}

interface OpenParagraph {
  words: Words;
  properties: XmlElement | undefined;
  /** Text boxes and other blocks that float beside the paragraph are read after it. */
  after: Block[];
  hasHidden: boolean;
}

/**
 * The names of elements that are not text of the document. Elements for properties are not text either, but the end of their name shows
 * this.
 */
const passedOver = new Set(['w:del', 'w:moveFrom', 'w:sectPr']);
const hardHyphen = '-';

class DocxReader {
  readonly #styles: Styles;
  readonly #numbering: Numbering;
  readonly #notes: Notes;
  readonly #graphics: Graphics;
  readonly #into: SectionBuilder;
  #fields = new DocxFields();

  constructor(parts: { styles: Styles; numbering: Numbering; notes: Notes; graphics: Graphics; into: SectionBuilder }) {
    this.#styles = parts.styles;
    this.#numbering = parts.numbering;
    this.#notes = parts.notes;
    this.#graphics = parts.graphics;
    this.#into = parts.into;
  }

  *blocksIn(container: XmlElement | undefined): Generator<Block> {
    let open: OpenParagraph | undefined;
    for (const child of this.#blockElements(container)) {
      if (child.name === 'w:p') {
        open ??= { words: new Words(), properties: undefined, after: [], hasHidden: false };
        open.properties = childOf(child, 'w:pPr');
        this.#readInline(child, open);
        if (this.#goesOn(open.properties)) continue;
      }
      if (open) yield* this.#end(open);
      open = undefined;
      if (child.name === 'w:tbl') yield* this.#table(child);
      else if (child.name.startsWith('m:')) yield { kind: 'prose', text: equationText(child) };
      else if (child.name !== 'w:p') this.#into.warn('part_skipped');
    }
    if (open) yield* this.#end(open);
  }

  /** Includes elements inside grouping elements. */
  *#blockElements(container: XmlElement | undefined): Generator<XmlElement> {
    for (const child of childrenOf(container)) {
      if (passedOver.has(child.name) || this.#isPlaceholder(child)) continue;
      if (/^w:(?:p|tbl|altChunk|subDoc)$|^m:oMath(?:Para)?$/.test(child.name)) yield child;
      else yield* this.#blockElements(child);
    }
  }

  /**
   * Whether the next paragraph continues the line of this paragraph. It does if the end of this paragraph is deleted or hidden, or if this
   * paragraph is a drop cap.
   */
  #goesOn(properties: XmlElement | undefined): boolean {
    const end = childOf(properties, 'w:rPr');
    if (childOf(end, 'w:del') || childOf(end, 'w:moveFrom')) return true;
    const frame = childOf(properties, 'w:framePr')?.attributes['w:dropCap'];
    return (frame !== undefined && frame !== 'none') || isOn(this.#styles.ofLetters(end, properties, 'w:vanish'));
  }

  *#end({ words, properties, after, hasHidden }: OpenParagraph): Generator<Block> {
    this.#fields.endParagraph();
    if (hasHidden) this.#into.warn('hidden_left_out');
    const level = this.#styles.headingLevel(properties);
    const number = this.#numbering.next(properties);
    const hasText = words.hasText();
    const text = (number ?? '') + words.take();
    if (hasText && level !== undefined) yield { kind: 'heading', level, text };
    else if (hasText) yield { kind: number === undefined ? 'prose' : 'row', text };
    yield* after;
    if (childOf(properties, 'w:sectPr')) this.#notes.endSection();
  }

  *#table(table: XmlElement): Generator<Block> {
    const onHidden = () => this.#into.warn('hidden_left_out');
    const rows = tableRowsOf(table, this.#styles, onHidden).map(({ isHeader, cells }) => ({
      isHeader,
      cells: cells.map(({ contents, ...spans }) => ({ blocks: [...this.blocksIn(contents)], ...spans })),
    }));
    // A table with one cell in each row is a frame around paragraphs, so these are read as usual.
    const blocks = rows.flatMap(({ cells }) => cells.flatMap((cell) => cell.blocks));
    const isFrame = rows.every(({ cells }) => cells.length === 1);
    if (isFrame && (blocks.length > rows.length || blocks.some(({ kind }) => kind !== 'prose'))) yield* blocks;
    else
      yield {
        kind: 'table',
        rows: rows.map(({ isHeader, cells }) => ({
          isHeader,
          cells: cells.map(({ blocks: inside, ...spans }) => ({ text: textOfBlocks(inside), ...spans })),
        })),
      };
  }

  #readInline(element: XmlElement, open: OpenParagraph): void {
    for (const child of childrenOf(element)) {
      if (passedOver.has(child.name) || child.name.endsWith('Pr') || this.#isPlaceholder(child)) continue;
      if (child.name === 'w:r') this.#readRun(child, open);
      else if (/^m:oMath(?:Para)?$/.test(child.name)) this.#add(open, equationText(child));
      else this.#readInline(child, open);
    }
  }

  /** An empty content control only shows a prompt such as "Enter text", which is not read. */
  #isPlaceholder(element: XmlElement): boolean {
    return element.name === 'w:sdt' && isOn(childOf(element, 'w:sdtPr', 'w:showingPlcHdr'));
  }

  #add(open: OpenParagraph, text: string, rise?: Rise): void {
    if (this.#fields.isShown()) open.words.add(text, rise);
  }

  #readRun(run: XmlElement, open: OpenParagraph): void {
    const properties = childOf(run, 'w:rPr');
    const property = (name: string) => this.#styles.ofLetters(properties, open.properties, name);
    const isVanished = isOn(property('w:vanish'));
    const rise = riseOf(property('w:vertAlign'), property('w:position'), childOf(properties, 'w:sz') !== undefined);
    const font = property('w:rFonts')?.attributes['w:ascii'] ?? '';
    let hasOwnMark = false;
    for (const child of childrenOf(run)) {
      if (child.name === 'w:fldChar') {
        const fieldText = this.#fields.read(child);
        if (!isVanished) open.words.add(fieldText);
      } else if (isVanished) {
        if (this.#fields.isShown() && /^w:(?:t|sym|drawing|pict|object)$/.test(child.name)) open.hasHidden = true;
      } else if (child.name === 'w:t' && hasOwnMark) {
        open.words.note(textOf(child));
        hasOwnMark = false;
      } else if (child.name === 'w:footnoteReference' || child.name === 'w:endnoteReference') {
        const kind: NoteKind = child.name === 'w:footnoteReference' ? 'footnote' : 'endnote';
        hasOwnMark = isTrue(child.attributes['w:customMarkFollows'] ?? '');
        const mark = this.#notes.refer(kind, child, hasOwnMark);
        if (mark !== undefined) open.words.note(mark);
      } else if (child.name === 'w:ruby') {
        if (this.#fields.isShown())
          open.words.read(this.#lettersIn(child, 'w:rubyBase'), this.#lettersIn(child, 'w:rt'));
      } else if (child.name === 'w:drawing' || child.name === 'w:pict' || child.name === 'w:object') {
        if (this.#fields.isShown()) this.#readDrawing(child, open);
      } else this.#add(open, this.#lettersOf(child, font), rise);
    }
  }

  /** @param child an element of a run */
  #lettersOf(child: XmlElement, font: string): string {
    switch (child.name) {
      case 'w:t':
        return this.#signs(textOf(child), font);
      case 'w:sym': {
        const { 'w:char': code = '', 'w:font': own = font } = child.attributes;
        const number = Number.parseInt(code, 16);
        return Number.isNaN(number) || number > 0x10ffff ? '' : this.#signs(String.fromCodePoint(number), own);
      }
      case 'w:tab':
      case 'w:ptab':
        return '\t';
      case 'w:br':
      case 'w:cr':
        return '\n';
      case 'w:noBreakHyphen':
        return hardHyphen;
      case 'w:contentPart':
        this.#into.warn('part_skipped');
        return '';
      default:
        return '';
    }
  }

  #signs(text: string, font: string): string {
    const signs = signsOf(text, font);
    if (!signs.isWhole) this.#into.warn('letters_unmapped');
    return signs.text;
  }

  #lettersIn(ruby: XmlElement, name: string): string {
    return [...descendantsOf(childOf(ruby, name), 'w:t')].map((one) => textOf(one)).join('');
  }

  /** Reads a picture, a chart, or shapes with words. */
  #readDrawing(drawing: XmlElement, open: OpenParagraph): void {
    if (drawing.name === 'w:object') return this.#into.warn('part_skipped');
    const frame = childOf(drawing, 'wp:inline') ?? childOf(drawing, 'wp:anchor');
    const properties = childOf(frame, 'wp:docPr');
    if (isHidden(properties)) {
      open.hasHidden = true;
      return;
    }
    const found = this.#readShapes(drawing, open, { properties, isDecorative: isDecorative(properties) });
    const alternative = alternativeText(properties);
    if (!found && alternative !== '') open.words.add(pictureWords(alternative));
  }

  /** @param around the properties of the drawing that contains the shapes @returns whether the element contains pictures or words */
  #readShapes(
    element: XmlElement,
    open: OpenParagraph,
    around: { properties: XmlElement | undefined; isDecorative: boolean },
  ): boolean {
    let hasContent = false;
    for (const child of childrenOf(element)) {
      const graphic = blocksOfGraphic(child, this.#graphics);
      const own = childOf(child, 'wps:cNvPr') ?? childOf(child, 'pic:nvPicPr', 'pic:cNvPr');
      if (isHidden(own) || /visibility:\s*hidden/i.test(child.attributes['style'] ?? '')) open.hasHidden = true;
      else if (graphic) open.after.push(...graphic);
      else if (child.name === 'w:txbxContent') open.after.push(...this.#boxed(child));
      else if (child.name === 'a:txBody')
        open.after.push(...paragraphTextsIn(child).map((text): Block => ({ kind: 'prose', text })));
      else if (child.name === 'v:textpath') open.words.add(` ${child.attributes['string'] ?? ''} `);
      else if (child.name === 'pic:pic') this.#readPicture(open, own, around);
      else if (child.name === 'v:imagedata')
        this.#readPicture(open, { ...child, attributes: { descr: element.attributes['alt'] ?? '' } }, around);
      else if (child.name === 'w:contentPart') this.#into.warn('part_skipped');
      else {
        hasContent = this.#readShapes(child, open, around) || hasContent;
        continue;
      }
      hasContent = true;
    }
    return hasContent;
  }

  #readPicture(
    open: OpenParagraph,
    own: XmlElement | undefined,
    around: { properties: XmlElement | undefined; isDecorative: boolean },
  ): void {
    const alternative = alternativeText(own) || alternativeText(around.properties);
    around.properties = undefined; // so that the alternative text is written only once
    if (around.isDecorative || isDecorative(own)) return;
    if (alternative === '') this.#into.warn('picture_without_text');
    else open.words.add(pictureWords(alternative));
  }

  /** Headings inside a text box become paragraphs, because they are not headings of the text after the box. */
  #boxed(contents: XmlElement): Block[] {
    const around = this.#fields;
    this.#fields = new DocxFields();
    const blocks = [...this.blocksIn(contents)].map((block): Block =>
      block.kind === 'heading' ? { kind: 'prose', text: block.text } : block,
    );
    this.#fields = around;
    return blocks;
  }
}

/**
 * Some programs move letters of normal size by a few half points for a better look. Letters count as raised or lowered only if they move by
 * at least this many half points.
 */
const leastRise = 3;

/** @param hasOwnSize whether the letters have a size of their own, which may be smaller than the size of the letters around them */
function riseOf(
  align: XmlElement | undefined,
  position: XmlElement | undefined,
  hasOwnSize: boolean,
): Rise | undefined {
  const value = align?.attributes['w:val'];
  if (value === 'superscript') return 'up';
  if (value === 'subscript') return 'down';
  const halfPoints = Number.parseFloat(position?.attributes['w:val'] ?? '0');
  const least = hasOwnSize ? 1 : leastRise;
  return halfPoints >= least ? 'up' : halfPoints <= -least ? 'down' : undefined;
}
