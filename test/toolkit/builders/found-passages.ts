/** Passages as retrieval hands them to the prompt of an answer; nothing of them is in the database. */
import type { FoundPassage } from '../../../domain/agents/prompt/prompt-blocks.policy.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';

/** Passages of one source that follow one another, a page each, with two sentences a passage. */
export function foundPassages(
  source: { id?: Id; title?: string; kind?: 'media' | 'lesson' },
  texts: readonly (readonly string[])[],
  { firstPosition = 0, firstPage = 1 }: { firstPosition?: number; firstPage?: number | null } = {},
): FoundPassage[] {
  const { id = newId(), title = 'Handbook', kind = 'media' } = source;
  return texts.map((blocks, at) => ({
    sourceId: id,
    sourceKind: kind,
    sourceTitle: title,
    position: firstPosition + at,
    page: firstPage === null ? null : firstPage + at,
    headings: [],
    blocks: [...blocks],
    fromSeconds: null,
    toSeconds: null,
  }));
}
