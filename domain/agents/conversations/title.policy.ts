/** The title that a conversation has before somebody gives it another. */
import { hasVisible, tidyName } from '../../../platform/core/text.policy.ts';
import { untagged } from '../../../platform/core/written-text.ts';

export const longestTitle = 120;
/** Of a question without a character that can be seen. */
const untitled = '…';

/**
 * "Its title comes from the first line of the question": the first of its lines in which something can be seen, as much of it as a
 * title may have. What people see as one character is not cut through, unless it is longer than a title.
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
