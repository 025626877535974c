/** Drops content that repeats on the pages of a document: headers, footers, page numbers and watermarks. */
import { linesIn, type Block } from './blocks.ts';
import { headingRules } from './manner.ts';
import type { Line } from './letters/pdf-lines.ts';

/** Headers are searched in this many lines at the top of a page, footers at the bottom. */
const edgeLines = 2;
const longestRepeated = 150;

/**
 * Drops headers and footers. A header or footer is a line at the top or bottom of at least half of the pages, and of at least three pages.
 * Only the numbers in the line may differ. Half of the pages is enough, because left and right pages may have different headers. Lines with
 * large letters are
 * headings and stay, because "Chapter 2" is not a repetition of "Chapter 1". If the file has no other text, the headers and footers stay,
 * too.
 */
export function withoutRepeated<Page extends PageBlocks>(pages: readonly Page[], size: number): Page[] {
  const edges = pages.map((page) => edgesOf(page, size * headingRules.larger));
  const counts = new Map<string, number>();
  for (const page of edges) for (const key of new Set(page.values())) counts.set(key, (counts.get(key) ?? 0) + 1);
  const enough = Math.max(3, Math.floor(pages.length / 2));
  const keptPages = pages.map((page, at) => {
    const isKept = (line: Line) => (counts.get(edges[at]?.get(line) ?? '') ?? 0) < enough;
    return {
      ...page,
      blocks: page.blocks.map((block) => ('lines' in block ? { ...block, lines: block.lines.filter(isKept) } : block)),
      asides: page.asides.filter(isKept),
    };
  });
  return keptPages.some(({ blocks }) => blocks.some((block) => !('lines' in block) || block.lines.length > 0))
    ? keptPages
    : [...pages];
}

/** The blocks of a page, and its lines in directions other than the main direction. */
export interface PageBlocks {
  blocks: Block[];
  asides: Line[];
}

function edgesOf(page: PageBlocks, headingSize: number): Map<Line, string> {
  const lines = page.blocks.flatMap((block) => (block.kind === 'heading' ? [] : linesIn(block)));
  const byHeight = lines.toSorted((a, b) => b.y - a.y);
  const edges = new Map<Line, string>();
  const note = (line: Line, edge: string) => {
    const words = line.text.trim().replace(/\s+/g, ' ');
    const key = line.size >= headingSize ? words : words.replace(/\d+/g, '#');
    if (key.length <= longestRepeated) edges.set(line, `${edge} ${key}`);
  };
  for (const line of byHeight.slice(0, edgeLines)) note(line, 'head');
  for (const line of byHeight.slice(-edgeLines)) if (!edges.has(line)) note(line, 'foot');
  for (const line of page.asides) note(line, 'aside');
  return edges;
}
