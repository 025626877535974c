/** Builds passages as retrieval returns them. They are not in the database. */
import type { FoundPassage } from '../../../domain/agents/prompt/prompt-blocks.policy.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';

/** Makes consecutive passages of one source. Each passage is on a new page, and has the given sentences. */
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
