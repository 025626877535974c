/** Makes the first title of a conversation, which stays until the student renames the conversation. */
import { hasVisible, tidyName } from '../../../platform/core/text/text.policy.ts';
import { untagged } from '../../../platform/core/text/written-text.ts';

export const longestTitle = 120;
/** The title for a question without a visible character. */
const untitled = '…';

/**
 * Returns the first line of the question that has a visible character (specification: "Its title comes from the first line of the
 * question."), cut to the maximum length of a title. A grapheme is not cut, unless it is longer than a title.
 */
export function titleOf(question: string): string {
  const line = question.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/).find(hasVisible) ?? '';
  const tidy = tidyName(untagged(line));
  let [title, length] = ['', 0];
  for (const { segment } of new Intl.Segmenter().segment(tidy)) {
    length += Array.from(segment).length;
    if (length > longestTitle) break;
    title += segment;
  }
  return title.trimEnd() || Array.from(tidy).slice(0, longestTitle).join('') || untitled;
}
