/** The pages behind a mail's way out: ask, done, and back again. Reading one changes nothing. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RecordOf } from '../../contract/contract.ts';
import { escapeHtml } from '../../platform/core/text.policy.ts';
import type { HtmlPage } from '../page.ts';

type Preference = RecordOf<'MailPreference'>;

const style = readFileSync(new URL('way-out.css', import.meta.url), 'utf8');

/** Nothing may be loaded or framed, and forms go to this service alone; of styles only the page's own. */
const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const kinds: Record<Preference['kind'], string> = {
  campaigns: 'news',
  automations: 'automatic messages',
  digests: 'daily mails about new posts',
};

/** @param after whether the person has just decided */
function pageOf(after: boolean) {
  return {
    contentSecurityPolicy,
    answer: ({ data }: { data: Preference }) => document(data, after),
    refusal: () =>
      layout(
        'This link does not work',
        '<p>The address is incomplete or was changed. Please open the link in the mail again, or copy all of it.</p>',
      ),
  };
}

function document(preference: Preference, after: boolean): string {
  const { club_name: name, kind, subscribed, token } = preference;
  const club = `<bdi>${escapeHtml(name)}</bdi>`;
  if (subscribed)
    return layout(
      after ? 'You are subscribed again' : 'Unsubscribe?',
      `<p>${after ? `${club} sends you its ${kinds[kind]} again.` : `You will get no more ${kinds[kind]} of ${club}. Messages that you ask for, such as a sign-in code, still arrive.`}</p>
      ${form('unsubscribe', token, after ? 'Unsubscribe' : `Stop ${kinds[kind]}`, after)}
      ${otherKinds(preference)}`,
    );
  return layout(
    'You are unsubscribed',
    `<p>${club} does not send you ${kinds[kind]} any more. A mail that is on its way may still arrive.</p>
      ${form('resubscribe', token, 'Subscribe again', true)}
      ${otherKinds(preference)}`,
  );
}

/** Each kind of mail is left for itself: the way to the others. */
const otherKinds = ({ club_name: name, others }: Preference) =>
  others
    .map(
      ({ kind, subscribed, token }) =>
        `<p><a href="../unsubscribe/${encodeURIComponent(token)}">The ${kinds[kind]} of <bdi>${escapeHtml(name)}</bdi></a>: you ${subscribed ? 'get them' : 'do not get them'}.</p>`,
    )
    .join('');

const form = (act: 'unsubscribe' | 'resubscribe', token: string, words: string, isQuiet: boolean) =>
  `<form method="post" action="../${act}/${encodeURIComponent(token)}"><button${isQuiet ? ' class="quiet"' : ''}>${words}</button></form>`;

const layout = (title: string, content: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <meta name="referrer" content="no-referrer">
    <title>${title}</title>
    <style>${style}</style>
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      ${content}
    </main>
  </body>
</html>
`;

export const showWayOut: HtmlPage<'getMailPreference'> = pageOf(false);
export const showLeft: HtmlPage<'unsubscribe'> = pageOf(true);
export const showReturned: HtmlPage<'resubscribe'> = pageOf(true);
