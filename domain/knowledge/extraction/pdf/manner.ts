/** Measures the usual letter sizes and line distances of a document, which help to recognize paragraphs and headings. */
import type { Block } from './blocks.ts';
import type { Line } from './letters/pdf-lines.ts';
import { wordsOf, type Words } from './letters/words.ts';

export interface Manner {
  /** The letter size of most of the text. */
  size: number;
  /** The usual distance between lines, in letter sizes; undefined if too few lines follow one another. */
  leading: number | undefined;
  /** The sizes of headings. The largest size is first. */
  headingSizes: readonly number[];
  hasTaggedHeadings: boolean;
  words: Words;
}

export const headingRules = { larger: 1.15, longest: 120, levels: 4 } as const;

export function mannerOf(pages: readonly (readonly Block[])[]): Manner {
  const charactersOf = new Map<number, number>();
  const lines = pages.flatMap((blocks) => blocks.flatMap(allLinesOf));
  for (const { text, size } of lines)
    charactersOf.set(rounded(size), (charactersOf.get(rounded(size)) ?? 0) + text.length);
  const bySpread = [...charactersOf].toSorted(([, a], [, b]) => b - a);
  const size = bySpread[0]?.[0] ?? 0;
  const gaps = pages.flatMap((blocks) =>
    blocks.flatMap((block) => ('lines' in block ? gapsOf(block.lines, size) : [])),
  );
  return {
    size,
    leading: gaps.length < 3 ? undefined : gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)],
    headingSizes: bySpread
      .map(([each]) => each)
      .filter((each) => each >= size * headingRules.larger)
      .toSorted((a, b) => b - a)
      .slice(0, headingRules.levels),
    hasTaggedHeadings: pages.some((blocks) => blocks.some(({ kind }) => kind === 'heading')),
    words: wordsOf(lines.map(({ text }) => text)),
  };
}

function allLinesOf(block: Block): readonly Line[] {
  if (block.kind === 'table') return block.rows.flatMap(({ cells }) => cells.flatMap(({ lines }) => lines));
  return 'lines' in block ? block.lines : [];
}

function gapsOf(lines: readonly Line[], size: number): number[] {
  return lines.slice(1).flatMap((line, at) => {
    const gap = ((lines[at]?.y ?? 0) - line.y) / size;
    return rounded(line.size) === size && gap > 0.5 && gap < 4 ? [gap] : [];
  });
}

/** @returns the level of a heading with letters of this size, from 1; 0 if such a line is not a heading */
export function levelOfSize(size: number, { headingSizes }: Manner): number {
  return headingSizes.indexOf(rounded(size)) + 1;
}

function rounded(size: number): number {
  return Math.round(size * 2) / 2;
}
