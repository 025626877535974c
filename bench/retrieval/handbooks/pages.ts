/** Splits a handbook's blocks into pages, and writes them as a corpus. */
import type { CorpusBlock } from '../corpus.ts';

/** In characters. A page ends before the block that would exceed it. */
const longest = 3_000;
/** In characters. Such a page also ends at the next section of the chapter. */
const longEnough = 1_800;
/** A shorter last page is joined to the previous page. */
const tooShort = 900;
/** The characters between two blocks. */
const blankLine = 2;

const sizeOf = (blocks: readonly CorpusBlock[]) =>
  blocks.reduce((sum, block) => sum + lineOf(block).length + blankLine, 0);
export function cutPages(blocks: readonly CorpusBlock[]): CorpusBlock[][] {
  const pages: CorpusBlock[][] = [];
  let page: CorpusBlock[] = [];
  for (const block of blocks) {
    const size = sizeOf(page);
    const isSection = block.kind === 'heading' && block.level === 2;
    if (size + lineOf(block).length > longest || (isSection && size >= longEnough)) {
      // A title stays on the page of the text below it.
      const full = page.slice(0, page.findLastIndex(({ kind }) => !isTitle(kind)) + 1);
      if (full.length > 0) pages.push(full);
      page = page.slice(full.length);
    }
    page.push(block);
  }
  const last = pages.at(-1);
  if (last && sizeOf(page) < tooShort) last.push(...page);
  else pages.push(page);
  return pages;
}

const isTitle = (kind: CorpusBlock['kind']) => kind === 'heading' || kind === 'label';

const marks = { paragraph: ['', ''], item: ['- ', ''], label: ['**', '**'] } as const;

function lineOf({ kind, level = 2, text }: CorpusBlock): string {
  if (kind === 'heading') return `${'#'.repeat(level)} ${text}`;
  const [before, after] = marks[kind];
  return `${before}${text}${after}`;
}

/** @returns Markdown for `readCorpus` */
export function markdownOf(title: string, pages: readonly CorpusBlock[][]): string {
  const lines = [`# ${title}`];
  for (const [place, blocks] of pages.entries()) {
    lines.push(`\n<!-- page ${place + 1} -->`);
    let before: CorpusBlock['kind'] | undefined;
    for (const block of blocks) {
      lines.push(`${before === 'item' && block.kind === 'item' ? '' : '\n'}${lineOf(block)}`);
      before = block.kind;
    }
  }
  return `${lines.join('\n')}\n`;
}
