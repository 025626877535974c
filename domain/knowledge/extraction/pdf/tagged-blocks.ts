/** Builds the blocks of a page with structure information: headings, paragraphs, lists, tables, and pictures with alternative texts. */
import type { Block, Cell, Row } from './blocks.ts';
import type { Glyph, Picture } from './pdf-drawing.ts';
import { linesOf, type Line } from './letters/pdf-lines.ts';

export interface TagNode {
  role?: string;
  children?: readonly TagNode[];
  alt?: string;
  bbox?: readonly number[] | null;
  rowSpan?: number;
  colSpan?: number;
  type?: string;
  id?: string;
}

export interface TaggedPage {
  root: TagNode;
  glyphs: readonly Glyph[];
  pictures: readonly Picture[];
  /** The visible lines, by the ids that pdf.js gives to the annotations. */
  values: ReadonlyMap<string, Line[]>;
}

const inline = new Set('Span Link Reference Em Strong Quote Code NonStruct Private Lbl Sub Annot Form Ruby RB Warichu WT WP BibEntry Formula'.split(' ')); // prettier-ignore
const notes = new Set(['Note', 'FENote']);
/** Small letters above other letters that show how to read them (ruby). */
const readings = new Set(['RT', 'RP']);
const headings = /^(?:H([1-6])?|Title)$/;

/** The structure must cover at least this share of the letters to be used. */
const leastCovered = 0.9;
const annotationPrefix = 'pdfjs_internal_id_';

/**
 * @returns the blocks, and the number of pictures without alternative text; undefined if the structure does not cover the page
 */
export function taggedBlocks(page: TaggedPage): { blocks: Block[]; untold: number } | undefined {
  const byMark = Map.groupBy(
    page.glyphs.filter(({ isArtifact, mark }) => !isArtifact && mark !== undefined),
    ({ mark }) => mark ?? -1,
  );
  const named = new Set(contentsOf(page.root).map(markOf));
  const letters = page.glyphs.filter(({ text }) => text.trim() !== '');
  const [own, furniture] = [letters.filter(({ isArtifact }) => !isArtifact), letters.filter((one) => one.isArtifact)];
  const covered = own.filter(({ mark }) => mark !== undefined && named.has(mark));
  if (covered.length < own.length * leastCovered || covered.length === 0) return undefined;
  if (furniture.length > Math.max(300, covered.length)) return undefined;
  const reader = new TagReader(byMark, page);
  reader.read(page.root);
  const rest = linesOf(own.filter(({ mark }) => mark === undefined || !named.has(mark)));
  // If the structure lacks a value of the page's form, the structure is not used. The reading order of this value follows only from its
  // position on the page.
  if ([...page.values.keys()].some((id) => !reader.used.has(id) && !reader.used.has(annotationPrefix + id)))
    return undefined;
  const blocks: Block[] = rest.length > 0 ? [...reader.blocks, { kind: 'lines', lines: rest }] : reader.blocks;
  return { blocks, untold: reader.untold };
}

function contentsOf(node: TagNode): string[] {
  if (node.type === 'content' && node.id !== undefined) return [node.id];
  return (node.children ?? []).flatMap(contentsOf);
}

/** pdf.js writes `p12R_mc3`. */
function markOf(id: string): number {
  return Number(id.slice(id.lastIndexOf('_mc') + 3));
}

/** In points. Smaller pictures are ornaments. */
const leastPicture = 30;

class TagReader {
  readonly blocks: Block[] = [];
  /** Annotations and marked content that the structure has named. */
  readonly used = new Set<string>();
  untold = 0;
  readonly #byMark: ReadonlyMap<number, Glyph[]>;
  readonly #page: TaggedPage;
  #glyphs: Glyph[] = [];
  #values: Line[] = [];
  #kind: 'prose' | 'row' = 'prose';
  #level = 0;
  #later: TagNode[] = [];

  constructor(byMark: ReadonlyMap<number, Glyph[]>, page: TaggedPage) {
    this.#byMark = byMark;
    this.#page = page;
  }

  read(root: TagNode): void {
    this.#block(root);
    this.#flush();
  }

  #block(node: TagNode): void {
    const { role = '' } = node;
    const heading = headings.exec(role);
    if (role === 'Artifact') return;
    if (role === 'Table') return this.#table(node);
    if (role === 'Figure' && !hasFigure(node)) return this.#figure(node);
    this.#flush();
    const [kind, level] = [this.#kind, this.#level];
    if (heading) this.#level = Number(heading[1] ?? 1);
    else if (role === 'LI' || role === 'TOCI') this.#kind = 'row';
    for (const child of node.children ?? []) this.#child(child);
    this.#flush();
    [this.#kind, this.#level] = [kind, level];
    const later = this.#later;
    this.#later = [];
    for (const note of later) this.#block({ ...note, role: 'P' });
  }

  #child(node: TagNode): void {
    const { role = '', type } = node;
    if (type !== undefined) return this.#content(node);
    if (readings.has(role)) return;
    if (notes.has(role)) this.#later.push(node);
    else if (inline.has(role)) for (const child of node.children ?? []) this.#child(child);
    // The line already has the number or bullet of the list item, so the item's first block continues it.
    else if (role === 'LBody' || (this.#isAtItem() && isParagraph(role)))
      for (const child of node.children ?? []) this.#child(child);
    else this.#block(node);
  }

  #isAtItem(): boolean {
    return this.#kind === 'row' && this.#glyphs.length > 0 && this.#glyphs.length <= 8;
  }

  #content({ type, id = '' }: TagNode): void {
    if (type === 'content') for (const glyph of this.#byMark.get(markOf(id)) ?? []) this.#glyphs.push(glyph);
    const value = this.#page.values.get(id.replace(annotationPrefix, ''));
    if (value) this.#values.push(...value);
    this.used.add(id);
  }

  #flush(): void {
    const lines = this.#lines();
    if (lines.length === 0) return;
    if (this.#level > 0) this.blocks.push({ kind: 'heading', level: this.#level, lines });
    else this.blocks.push({ kind: this.#kind, lines });
  }

  #lines(): Line[] {
    const lines = [...linesOf(this.#glyphs), ...this.#values];
    this.#glyphs = [];
    this.#values = [];
    return lines;
  }

  #figure(node: TagNode): void {
    this.#flush();
    const { alt = '', bbox } = node;
    const marks = new Set(contentsOf(node).map(markOf));
    const drawn = this.#page.pictures.find(({ mark }) => mark !== undefined && marks.has(mark));
    const [width, height] = drawn ? [drawn.width, drawn.height] : [Math.abs((bbox?.[2] ?? 0) - (bbox?.[0] ?? 0)), Math.abs((bbox?.[3] ?? 0) - (bbox?.[1] ?? 0))]; // prettier-ignore
    if (alt.trim() !== '') this.blocks.push({ kind: 'picture', text: alt });
    for (const child of node.children ?? []) this.#child(child);
    const hasWords = this.#glyphs.some(({ text }) => text.trim() !== '');
    this.#flush();
    if (alt.trim() === '' && !hasWords && Math.min(width, height) >= leastPicture) this.untold += 1;
  }

  #table(node: TagNode): void {
    this.#flush();
    const rows: Row[] = [];
    const captions: TagNode[] = [];
    const visit = (part: TagNode, isHead: boolean) => {
      for (const child of part.children ?? [])
        if (child.role === 'TR') rows.push(this.#row(child, isHead));
        else if (child.role === 'Caption') captions.push(child);
        else visit(child, isHead || child.role === 'THead');
    };
    visit(node, false);
    for (const caption of captions) this.#block(caption);
    if (rows.length === 0) for (const child of node.children ?? []) this.#block(child);
    else this.blocks.push({ kind: 'table', rows });
  }

  #row(node: TagNode, isHead: boolean): Row {
    const cells = (node.children ?? []).filter(({ role }) => role === 'TH' || role === 'TD');
    return {
      isHeader: isHead || (cells.length > 1 && cells.every(({ role }) => role === 'TH')),
      cells: cells.map((cell) => this.#cell(cell)),
    };
  }

  #cell({ children = [], rowSpan = 1, colSpan = 1 }: TagNode): Cell {
    const lines: Line[] = [];
    const visit = (child: TagNode) => {
      if (child.type !== undefined) return this.#content(child);
      if (notes.has(child.role ?? '')) return void this.#later.push(child);
      if (!inline.has(child.role ?? '')) lines.push(...this.#lines());
      if (child.role === 'Figure' && child.alt) lines.push(lineOfText(`[Picture: ${child.alt}]`));
      for (const inner of child.children ?? []) visit(inner);
    };
    for (const child of children) visit(child);
    return { lines: [...lines, ...this.#lines()], colspan: colSpan, rowspan: rowSpan };
  }
}

/** A node around pictures is only a frame, and not a picture itself. */
function hasFigure({ children = [] }: TagNode): boolean {
  return children.some((child) => child.role === 'Figure' || hasFigure(child));
}

function isParagraph(role: string): boolean {
  return role === 'P' || role === 'Div' || role === 'Sect';
}

function lineOfText(text: string): Line {
  return { text, x: 0, right: 0, y: 0, size: 0, segments: [] };
}
