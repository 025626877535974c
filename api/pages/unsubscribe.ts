/** The pages of an unsubscribe link: a question, and two pages that confirm the answer. Opening a page changes nothing. */
import { readFileSync } from 'node:fs';
import type { RecordOf } from '../../contract/contract.ts';
import { languageOf } from '../../domain/language/languages.ts';
import { wordingIn, type Wording } from '../../domain/language/wording.ts';
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import type { DomainError } from '../../platform/core/errors.ts';
import { escapeHtml } from '../../platform/core/text/text.policy.ts';
import type { HtmlPage } from '../page.ts';
import { footOf, headOf, policyOf, styleOf } from './branded.ts';

type Preference = RecordOf<'MailPreference'>;

const ownStyle = readFileSync(new URL('unsubscribe.css', import.meta.url), 'utf8');

/** After these errors the link works again. For any other error, the page says that the link is broken. */
const passing: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'rate_limited',
  'rate_limit_unavailable',
  'busy',
  'internal_error',
]);

/** @param after whether the page answers the person's decision */
function pageOf(after: boolean) {
  return {
    contentSecurityPolicy: (body: { data: Preference } | undefined) =>
      policyOf(styleOf(ownStyle, body?.data.branding), body?.data.branding, "'self'"),
    answer: ({ data }: { data: Preference }) => document(data, after),
    refusal: ({ code }: DomainError, wording: Wording) => {
      const page = passing.has(code) ? 'page.busy' : 'unsubscribe.broken';
      return layout(wording, wording.say(`${page}.title`), `<p>${escapeHtml(wording.say(`${page}.text`))}</p>`);
    },
  };
}

function document(preference: Preference, after: boolean): string {
  const { club_name: club, kind, subscribed, token } = preference;
  const wording = wordingIn(languageOf(preference.language));
  const state = subscribed ? (after ? 'again' : 'question') : 'done';
  return layout(
    wording,
    wording.say(`unsubscribe.${state}.title`),
    `<p>${escapeHtml(wording.say(`unsubscribe.${state}.text`, { club, kind }))}</p>
      ${form(subscribed ? 'unsubscribe' : 'resubscribe', token, subscribed ? wording.say('unsubscribe.action', { kind }) : wording.say('unsubscribe.done.action'), state !== 'question')}
      ${otherKinds(preference, wording)}`,
    { branding: preference.branding, name: club },
  );
}

/** Each kind of mail has a separate subscription. */
const otherKinds = ({ club_name: club, others }: Preference, wording: Wording) =>
  others
    .map(({ kind, subscribed, token }) => {
      const state = subscribed ? 'subscribed' : 'unsubscribed';
      return `<p><a href="../unsubscribe/${encodeURIComponent(token)}">${escapeHtml(wording.say(`unsubscribe.other.${state}`, { club, kind }))}</a></p>`;
    })
    .join('');

const form = (act: 'unsubscribe' | 'resubscribe', token: string, words: string, isQuiet: boolean) =>
  `<form method="post" action="../${act}/${encodeURIComponent(token)}"><button${isQuiet ? ' class="quiet"' : ''}>${escapeHtml(words)}</button></form>`;

const layout = (
  { language, direction }: Wording,
  title: string,
  content: string,
  club?: { branding: Preference['branding']; name: string },
) => `<!doctype html>
<html lang="${language}" dir="${direction}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <meta name="referrer" content="no-referrer">
    <title>${escapeHtml(title)}</title>
    <style>${styleOf(ownStyle, club?.branding)}</style>
  </head>
  <body>
    <main>
      ${club ? headOf(club.branding, club.name) : ''}<h1>${escapeHtml(title)}</h1>
      ${content}${club ? footOf(club.branding, direction) : ''}
    </main>
  </body>
</html>
`;

export const showUnsubscribe: HtmlPage<'getMailPreference'> = pageOf(false);
export const showUnsubscribed: HtmlPage<'unsubscribe'> = pageOf(true);
export const showResubscribed: HtmlPage<'resubscribe'> = pageOf(true);
