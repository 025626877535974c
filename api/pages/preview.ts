/** The page of a preview: an e-mail as one recipient would see it, on a screen and on a phone, and as text (CAMP-46). */
import { readFileSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import type { RecordOf } from '../../contract/contract.ts';
import type { MessageKey } from '../../domain/language/arguments.ts';
import { languageOf } from '../../domain/language/languages.ts';
import { wordingIn, type Wording } from '../../domain/language/wording.ts';
import { noWayOut } from '../../domain/campaigns/drafts/preview.ts';
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { escapeHtml } from '../../platform/core/text/text.policy.ts';
import type { HtmlPage } from '../page.ts';

type Preview = RecordOf<'CampaignPreviewPage'>;

const style = readFileSync(new URL('preview.css', import.meta.url), 'utf8');

/** Page and e-mail may only open links in new pages. They cannot run scripts or send forms, and have no origin. */
const sandbox = 'allow-popups allow-popups-to-escape-sandbox';

/** These addresses are safe, because the author of the e-mail cannot choose them. */
const imageOrigins = ({ html }: Preview): string[] => [
  ...new Set([...html.matchAll(/<img\b[^<>]*? src="(https?:\/\/[^/"?#\s;,]+)/g)].flatMap(([, origin]) => origin ?? [])),
];

/** A public file, such as the club's logo, redirects to the store. So an e-mail with such a file needs all hosts. */
const imageSources = (preview: Preview): string[] =>
  /<img\b[^<>]*? src="[^"]*\/public\/media\//.test(preview.html) ? ['http:', 'https:'] : imageOrigins(preview);

/** The frame inherits this policy. Styles are allowed because an e-mail has its styles in its elements. */
function contentSecurityPolicy(body: { data: Preview } | undefined): string {
  const origins = body ? imageSources(body.data) : [];
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
    const wording = wordingIn(languageOf(data.language));
    const plain = escapeHtml(data.text);
    const copies = copiesOf(framed(data.html, wording), Buffer.byteLength(plain), wording);
    return layout(
      wording,
      wording.say('preview.title', { subject: data.subject }),
      `<header>
        <h1 dir="auto">${text(data.subject)}</h1>
        ${data.preheader === undefined ? '' : `<p class="preheader" dir="auto">${text(data.preheader)}</p>`}
        <p class="note">${escapeHtml(data.student_name === undefined ? wording.say('preview.of_nobody') : wording.say('preview.of_student', { name: data.student_name }))}
        ${escapeHtml(wording.say('preview.note', { campaign: data.campaign_name }))}</p>
      </header>
      <section class="copies">${copies}</section>
      <details><summary>${escapeHtml(wording.say('preview.plain_text'))}</summary><pre dir="auto">${plain}</pre></details>`,
    );
  },
  refusal({ code }, wording) {
    const [title, words] = (refusals[code] ?? missingPreview).map((key) => wording.say(key));
    return layout(
      wording,
      title ?? '',
      `<section><h1>${escapeHtml(title ?? '')}</h1><p>${escapeHtml(words ?? '')}</p></section>`,
    );
  },
};

type RefusalKey = 'page.busy.title' | Extract<MessageKey, `preview.${string}.${'title' | 'text'}`>;

/** Title and text for each error code. */
const refusals: Readonly<Partial<Record<ErrorCode, readonly RefusalKey[]>>> = {
  campaign_has_problems: ['preview.problems.title', 'preview.problems.text'],
  rate_limited: ['preview.rate_limited.title', 'preview.rate_limited.text'],
  busy: ['page.busy.title', 'preview.busy.text'],
};
const missingPreview: readonly RefusalKey[] = ['preview.gone.title', 'preview.gone.text'];

/** In bytes. The page contains the e-mail twice, and its text once. */
const mostBytes = 950_000;

/** @returns the e-mail on a screen and on a phone; without the phone for a large e-mail, and none for a still larger one */
function copiesOf(frame: string, besideBytes: number, wording: Wording): string {
  const room = mostBytes - besideBytes;
  const bytes = Buffer.byteLength(frame);
  if (bytes > room) return `<p class="note">${escapeHtml(wording.say('preview.too_large', { bytes }))}</p>`;
  const onScreen = `<iframe title="${escapeHtml(wording.say('preview.mail'))}" sandbox="${sandbox}" referrerpolicy="no-referrer" srcdoc="${frame}"></iframe>`;
  if (2 * bytes > room) return onScreen;
  return `${onScreen}
        <iframe class="phone" title="${escapeHtml(wording.say('preview.mail_on_phone'))}" sandbox="${sandbox}" referrerpolicy="no-referrer" srcdoc="${frame}"></iframe>`;
}

/** Caches frames by language and HTML, because a page is opened more often than the e-mail changes. */
const frames = new LRUCache<string, string>({ maxSize: 20_000_000, sizeCalculation: (frame) => frame.length });

function framed(html: string, wording: Wording): string {
  const key = `${wording.language} ${html}`;
  const known = frames.get(key);
  if (known !== undefined) return known;
  const frame = escapeHtml(inFrame(html, wording));
  frames.set(key, frame);
  return frame;
}

/** Links open in new pages. The unsubscribe link has no address, because even `#` would open this page a second time. */
const inFrame = (html: string, wording: Wording) =>
  html
    .replace(/<head\b[^<>]*>/i, '$&<base target="_blank">')
    .replaceAll(
      `href="${noWayOut}"`,
      `role="link" title="${escapeHtml(wording.say('preview.link_leads_nowhere'))}" style="text-decoration:underline"`,
    );

/** Each text gets its own writing direction. */
const text = (written: string) => `<bdi>${escapeHtml(written)}</bdi>`;

const layout = ({ language, direction }: Wording, title: string, content: string) => `<!doctype html>
<html lang="${language}" dir="${direction}">
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
