/**
 * Finds the files that a Markdown text names as `media:<id>`, as in `![A bowline](media:7c9e6679-7425-40de-944b-e07fc1f90ae7)` (MED-14).
 */
import type { Id } from '../../../platform/core/ids.ts';

const mention = /(?<![\w-])media:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])/gi;

/** The maximum number of files that one text may name. */
export const mostMentions = 100;

/** @returns the ids in lower case, without duplicates, in the order of their first mention */
export function mediaIdsIn(text: string): Id[] {
  return [...new Set([...text.matchAll(mention)].map(([, id = '']) => id.toLowerCase()))];
}
