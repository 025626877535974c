/**
 * Converts the model's citations to stored citations. The model cites a range of blocks of a search result. A stored citation has a source,
 * pages and the cited words.
 */
import type { Id } from '../../../platform/core/ids.ts';
import type { ModelCitation } from '../../../platform/infra/model/model.ts';
import type { Seconds } from '../../knowledge/extraction/sections.ts';
import type { SourceKind } from '../../../entities/knowledge/values.ts';

export interface SentBlock {
  text: string;
  /** The number of the page, from 1. Null if the source has no pages. */
  page: number | null;
  /** The time span in whole seconds of a video or sound; null for other sources. */
  seconds: Seconds | null;
}

/** A search result in the prompt: consecutive passages of one source. */
export interface SentResult {
  sourceId: Id;
  sourceKind: SourceKind;
  sourceTitle: string;
  blocks: readonly SentBlock[];
}

export interface Citation {
  citedText: string;
  sourceId: Id;
  sourceKind: SourceKind;
  sourceTitle: string;
  pageFrom: number | null;
  pageTo: number | null;
  fromSeconds: number | null;
  toSeconds: number | null;
}

/**
 * Takes the cited words from the blocks of the prompt, and not from the copy that the model sends.
 * @returns the citations in the order of the text. Each range of a source occurs only once. `dropped` is the number of citations whose
 * passage is not in the prompt
 */
export function citationsOf(
  cited: readonly ModelCitation[],
  sent: readonly SentResult[],
): { citations: Citation[]; dropped: number } {
  const citations = new Map<string, Citation>();
  let dropped = 0;
  for (const { result, startBlock, endBlock } of cited) {
    const from = sent[result];
    if (!from || !isRange(startBlock, endBlock, from.blocks.length)) {
      dropped += 1;
      continue;
    }
    // If a range is cited again, it keeps its first position.
    citations.set(`${result} ${startBlock} ${endBlock}`, citationOf(from, from.blocks.slice(startBlock, endBlock)));
  }
  return { citations: [...citations.values()], dropped };
}

function isRange(start: number, end: number, length: number): boolean {
  return Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end <= length;
}

function citationOf({ sourceId, sourceKind, sourceTitle }: SentResult, blocks: readonly SentBlock[]): Citation {
  const pages = blocks.flatMap(({ page }) => (page === null ? [] : [page]));
  const seconds = blocks.flatMap((block) => block.seconds ?? []);
  return {
    citedText: blocks.map(({ text }) => text).join(''),
    sourceId,
    sourceKind,
    sourceTitle,
    pageFrom: pages.length > 0 ? Math.min(...pages) : null,
    pageTo: pages.length > 0 ? Math.max(...pages) : null,
    fromSeconds: seconds.length > 0 ? Math.min(...seconds.map(({ from }) => from)) : null,
    toSeconds: seconds.length > 0 ? Math.max(...seconds.map(({ to }) => to)) : null,
  };
}
