/**
 * Makes the text of members safe for readers. In any renderer, no part of the text runs code, loads a resource or links to a forbidden
 * scheme (DEC-148).
 */
import { judgeAddress } from './link-address.policy.ts';
import { createMarkdownStripper } from './safe-markdown.policy.ts';

/**
 * The way in which a text is displayed. It determines how the text is made safe:
 * - `markdown`: a Markdown renderer displays the text. Raw HTML becomes text (`&lt;`). An image outside the club's library becomes a link.
 * - `lesson`: the text is treated like `markdown`, but images of the web stay.
 * - `plain`: the text is displayed unchanged, so readers would see a `&lt;`. Instead, a blank separates characters that Markdown would read
 *   as a tag or an image.
 * - `raw`: no renderer displays the text. An example is a question to a model.
 */
export const textKinds = ['markdown', 'lesson', 'plain', 'raw'] as const;
export type TextKind = (typeof textKinds)[number];

/** @returns the text in its stored form; undefined if a link `[…](…)` has a forbidden address */
export function safeText(text: string, kind: TextKind): string | undefined {
  switch (kind) {
    case 'raw':
      return text;
    case 'plain':
      return safePlainText(text);
    case 'markdown':
      return safeMarkdown(text, 'library');
    case 'lesson':
      return safeMarkdown(text, 'web');
  }
}

function safeMarkdown(text: string, images: 'library' | 'web'): string | undefined {
  const stripper = createMarkdownStripper({ images });
  const safe = stripper.push(text) + stripper.end();
  return stripper.cutsLinks() ? undefined : safe;
}

function safePlainText(text: string): string | undefined {
  let hasBadLink = false;
  const linkless = text.replace(/\]([(:])/g, (both, mark: string, at: number) => {
    if (judgeAddress(text, at + 2, true, true) === 'good') return both;
    hasBadLink ||= mark === '(';
    return `] ${mark}`;
  });
  return hasBadLink ? undefined : untagged(linkless.replace(/!(?=\[)/g, '! '));
}

export function untagged(text: string): string {
  return text.replace(/<(?=[a-z/!?])/gi, '< ');
}
