/** Text that members write and others read: nothing of it runs, loads or leads elsewhere in any renderer (DEC-148). */
import { judgeAddress } from './link-address.policy.ts';
import { createMarkdownStripper } from './safe-markdown.policy.ts';

/**
 * How a text is read, and so what makes it safe:
 * - `markdown`: by a renderer of Markdown. Raw HTML becomes text (`&lt;`), an image that is not of the club's library a link.
 * - `lesson`: the same, and images of the web stay.
 * - `plain`: as it is. A blank keeps apart what would be a tag or an image in Markdown, because `&lt;` would be seen.
 * - `raw`: by no renderer, such as what a model is asked.
 */
export const textKinds = ['markdown', 'lesson', 'plain', 'raw'] as const;
export type TextKind = (typeof textKinds)[number];

/**
 * @returns the text in the form that is stored; the same for a text that has this form. Undefined for a link `[…](…)` to an address
 *   other than http, https, mailto, a file of the library (`media:<id>`) or a place of the site
 */
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

/** @returns the text with a blank behind each `<` that could begin a tag, a comment or a declaration */
export function untagged(text: string): string {
  return text.replace(/<(?=[a-z/!?])/gi, '< ');
}
