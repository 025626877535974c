/** The public page of a certificate: whose it is, of which course, and whether it is valid. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RecordOf } from '../../contract/contract.ts';
import { escapeHtml } from '../../platform/core/text.policy.ts';
import { printedDay, printedExtent } from '../../domain/learning/certificates/days.policy.ts';
import type { HtmlPage } from '../page.ts';

type Verification = RecordOf<'CertificateVerification'>;

const style = readFileSync(new URL('certificate.css', import.meta.url), 'utf8');

/** Nothing may be loaded, sent or framed; of styles only the page's own. */
const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** What the page says of each state: its heading, and what it means for a reader who has the certificate in hand. */
const states: Record<Verification['state'], { mark: string; title: string; meaning: string }> = {
  valid: {
    mark: '✓',
    title: 'This certificate is valid',
    meaning: 'Name, course and version should be the same as on the certificate that you were shown.',
  },
  revoked: {
    mark: '✕',
    title: 'This certificate was revoked',
    meaning: 'The club that issued it has taken it back. It is no proof of anything any more.',
  },
  withdrawn: {
    mark: '–',
    title: 'This certificate was withdrawn',
    meaning: 'It was issued, but the account that it belonged to was removed, and the name with it.',
  },
};

export const certificatePage: HtmlPage<'verifyCertificate'> = {
  contentSecurityPolicy,
  answer: ({ data }) =>
    document(
      `Certificate ${data.code_formatted}`,
      data.state,
      `      <p class="club">${text(data.club_name)}</p>
      <h1>Certificate of Completion</h1>
      <p class="state"><span class="mark" aria-hidden="true">${states[data.state].mark}</span> ${states[data.state].title}</p>
      <dl>
${rowsOf(data)
  .map(([name, value]) => `        <div><dt>${name}</dt><dd>${value}</dd></div>`)
  .join('\n')}
      </dl>
      <p class="meaning">${states[data.state].meaning}</p>`,
    ),
  refusal: ({ code }) =>
    code === 'not_found'
      ? document(
          'No such certificate',
          'unknown',
          `      <h1>No such certificate</h1>
      <p class="state"><span class="mark" aria-hidden="true">?</span> No certificate has this code</p>
      <p class="meaning">Please compare the code in the address with the one that is printed: twelve letters and digits in three
      groups of four. Capital or small letters, hyphens and spaces make no difference, and the characters 0, 1, I, L and O never
      occur.</p>`,
        )
      : document(
          'Not now',
          'unknown',
          `      <h1>Not now</h1>\n      <p class="meaning">Please try again shortly.</p>`,
        ),
};

/** What is shown, name by name, as HTML. */
function rowsOf(data: Verification): [string, string][] {
  const { student_name: name, completed_at: completedAt, revoked_at: revokedAt, time_zone: timeZone } = data;
  const day = (at: string) => `<time datetime="${escapeHtml(at)}">${printedDay(new Date(at), timeZone)}</time>`;
  return [
    ...(name === undefined ? [] : [['Awarded to', `<strong>${text(name)}</strong>`] as [string, string]]),
    ['Course', `<strong>${text(data.course_title)}</strong>`],
    ['Extent', printedExtent({ lessons: data.lesson_count, hours: data.hours })],
    ...(completedAt === undefined ? [] : [['Completed', day(completedAt)] as [string, string]]),
    ['Issued', day(data.issued_at)],
    ...(revokedAt === undefined ? [] : [['Revoked', day(revokedAt)] as [string, string]]),
    ['Version', String(data.version)],
    ['Code', `<code>${escapeHtml(data.code_formatted)}</code>`],
  ];
}

/** What people wrote, in whatever direction their script runs. */
function text(written: string): string {
  return `<bdi>${escapeHtml(written)}</bdi>`;
}

function document(title: string, state: string, content: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${escapeHtml(title)}</title>
    <style>${style}</style>
  </head>
  <body>
    <main class="${state}">
${content}
    </main>
  </body>
</html>
`;
}
