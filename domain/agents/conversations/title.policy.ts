/** The title that a conversation has before somebody gives it another. */
import { tidyName } from '../../../platform/core/text.policy.ts';

export const longestTitle = 120;
/** Of a question without a character that can be seen. */
const untitled = '…';

/**
 * "Its title comes from the first line of the question": of its lines the first that is not blank, as much of it as a title
 * may have. What people see as one character is not cut through, unless it is longer than a title.
 */
export function titleOf(question: string): string {
  const line = question.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/).find((one) => one.trim() !== '') ?? question;
  const tidy = tidyName(line);
  let [title, length] = ['', 0];
  for (const { segment } of new Intl.Segmenter().segment(tidy)) {
    length += Array.from(segment).length;
    if (length > longestTitle) break;
    title += segment;
  }
  return title.trimEnd() || Array.from(tidy).slice(0, longestTitle).join('') || untitled;
}
