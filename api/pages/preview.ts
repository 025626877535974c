/** The page of a preview: an e-mail as one recipient would see it, on a screen and on a phone, and its text (CAMP-46). */
import { readFileSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import type { RecordOf } from '../../contract/contract.ts';
import { noWayOut } from '../../domain/campaigns/preview.ts';
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { escapeHtml } from '../../platform/core/text.policy.ts';
import type { HtmlPage } from '../page.ts';

type Preview = RecordOf<'CampaignPreviewPage'>;

const style = readFileSync(new URL('preview.css', import.meta.url), 'utf8');

/** What page and e-mail may do: links open in pages of their own. Neither runs a script, sends a form or has an origin. */
const sandbox = 'allow-popups allow-popups-to-escape-sandbox';

/** Where the images of an e-mail are; its author chooses none of these addresses. */
const imageOrigins = ({ html }: Preview): string[] => [
  ...new Set([...html.matchAll(/<img\b[^<>]*? src="(https?:\/\/[^/"?#\s;,]+)/g)].flatMap(([, origin]) => origin ?? [])),
];

/** The frame inherits it: an e-mail has its styles in its elements, and of all addresses only those of its own images. */
function contentSecurityPolicy(body: { data: Preview } | undefined): string {
  const origins = body ? imageOrigins(body.data) : [];
  return [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    ...(origins.length > 0 ? [`img-src ${origins.join(' ')}`] : []),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    `sandbox ${sandbox}`,
  ].join('; ');
}

export const previewPage: HtmlPage<'showCampaignPreview'> = {
  contentSecurityPolicy,
  answer: ({ data }) => {
    const plain = escapeHtml(data.text);
    const copies = copiesOf(framed(data.html), Buffer.byteLength(plain));
    return layout(
      `Preview: ${data.subject}`,
      `<header>
        <h1 dir="auto">${text(data.subject)}</h1>
        ${data.preheader === undefined ? '' : `<p class="preheader" dir="auto">${text(data.preheader)}</p>`}
        <p class="note">${data.student_name === undefined ? 'As it looks to somebody of whom nothing is known' : `The copy of ${text(data.student_name)}`}.
        A preview of ${text(data.campaign_name)}: nobody was written to, nothing is counted, and unsubscribing does nothing.</p>
      </header>
      <section class="copies">${copies}</section>
      <details><summary>Plain text</summary><pre dir="auto">${plain}</pre></details>`,
    );
  },
  refusal({ code }) {
    const [title, words] = refusals[code] ?? [
      'This preview is gone',
      'A preview can be seen for 15 minutes. Please open a new one.',
    ];
    return layout(title, `<section><h1>${title}</h1><p>${words}</p></section>`);
  },
};

const refusals: Readonly<Partial<Record<ErrorCode, readonly [title: string, words: string]>>> = {
  campaign_has_problems: [
    'No preview',
    'The e-mail was changed and has problems now, or it is too large. Mend them, and open a new preview.',
  ],
  rate_limited: ['Too many previews', 'Please wait a minute, and open this page again.'],
  busy: ['Not now', 'Too much is under way for this club. Please open this page again shortly.'],
};

/** Largest page, in bytes. It contains the e-mail twice, and its text once. */
const mostBytes = 950_000;

/** @returns the e-mail on a screen and on a phone; of a large one the phone is left out, of a still larger one both */
function copiesOf(frame: string, besideBytes: number): string {
  const room = mostBytes - besideBytes;
  const bytes = Buffer.byteLength(frame);
  if (bytes > room)
    return `<p class="note">The e-mail is too large to be shown here: as it stands in this page it has ${bytes} bytes.</p>`;
  const onScreen = `<iframe title="The e-mail" sandbox="${sandbox}" referrerpolicy="no-referrer" srcdoc="${frame}"></iframe>`;
  if (2 * bytes > room) return onScreen;
  return `${onScreen}
        <iframe class="phone" title="The e-mail on a phone" sandbox="${sandbox}" referrerpolicy="no-referrer" srcdoc="${frame}"></iframe>`;
}

/** Frames that were made last, by the HTML of the e-mail: a page is opened more often than the e-mail changes. */
const frames = new LRUCache<string, string>({ maxSize: 20_000_000, sizeCalculation: (frame) => frame.length });

function framed(html: string): string {
  const known = frames.get(html);
  if (known !== undefined) return known;
  const frame = escapeHtml(inFrame(html));
  frames.set(html, frame);
  return frame;
}

/** Its links open in pages of their own. The way out has no address: from a frame even `#` would lead to this page. */
const inFrame = (html: string) =>
  html
    .replace(/<head\b[^<>]*>/i, '$&<base target="_blank">')
    .replaceAll(
      `href="${noWayOut}"`,
      'role="link" title="Leads nowhere in a preview" style="text-decoration:underline"',
    );

/** What people wrote, in whatever direction their script runs. */
const text = (written: string) => `<bdi>${escapeHtml(written)}</bdi>`;

const layout = (title: string, content: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <meta name="referrer" content="no-referrer">
    <title>${escapeHtml(title)}</title>
    <style>${style}</style>
  </head>
  <body>
    <main>
      ${content}
    </main>
  </body>
</html>
`;
