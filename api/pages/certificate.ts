/** The public page of a certificate: its owner, its course, and whether it is valid. */
import { readFileSync } from 'node:fs';
import type { RecordOf } from '../../contract/contract.ts';
import { languageOf } from '../../domain/language/languages.ts';
import { wordingIn, type Wording } from '../../domain/language/wording.ts';
import { escapeHtml } from '../../platform/core/text/text.policy.ts';
import type { HtmlPage } from '../page.ts';
import { footOf, headOf, policyOf, styleOf } from './branded.ts';

type Verification = RecordOf<'CertificateVerification'>;

const ownStyle = readFileSync(new URL('certificate.css', import.meta.url), 'utf8');

const marks = { valid: '✓', revoked: '✕', withdrawn: '–' } as const;

export const certificatePage: HtmlPage<'verifyCertificate'> = {
  contentSecurityPolicy: (body) => policyOf(styleOf(ownStyle, body?.data.branding), body?.data.branding, "'none'"),
  answer: ({ data }) => {
    const wording = wordingIn(languageOf(data.language));
    return document(
      wording,
      {
        title: wording.say('certificate.page_title', { code: data.code_formatted }),
        state: data.state,
        branding: data.branding,
      },
      `      ${headOf(data.branding, data.club_name)}<p class="club">${text(data.club_name)}</p>
      <h1>${escapeHtml(wording.say('certificate.title'))}</h1>
      <p class="state"><span class="mark" aria-hidden="true">${marks[data.state]}</span> ${escapeHtml(wording.say(`certificate.${data.state}.title`))}</p>
      <dl>
${rowsOf(data, wording)
  .map(([name, value]) => `        <div><dt>${escapeHtml(name)}</dt><dd>${value}</dd></div>`)
  .join('\n')}
      </dl>
      <p class="meaning">${escapeHtml(wording.say(`certificate.${data.state}.text`))}</p>${footOf(data.branding, wording.direction)}`,
    );
  },
  refusal: ({ code }, wording) => {
    const isUnknown = code === 'not_found';
    const title = wording.say(isUnknown ? 'certificate.unknown.title' : 'page.busy.title');
    const mark = `<p class="state"><span class="mark" aria-hidden="true">?</span> ${escapeHtml(wording.say('certificate.unknown.state'))}</p>`;
    return document(
      wording,
      { title, state: 'unknown' },
      `      <h1>${escapeHtml(title)}</h1>
      ${isUnknown ? mark : ''}
      <p class="meaning">${escapeHtml(wording.say(isUnknown ? 'certificate.unknown.text' : 'page.busy.text'))}</p>`,
    );
  },
};

function rowsOf(data: Verification, wording: Wording): [string, string][] {
  const { student_name: name, completed_at: completedAt, revoked_at: revokedAt, time_zone: timeZone, hours } = data;
  const day = (at: string) =>
    `<time datetime="${escapeHtml(at)}">${escapeHtml(wording.day(new Date(at), timeZone))}</time>`;
  const extent = [
    wording.say('certificate.lessons', { count: data.lesson_count }),
    ...(hours === undefined ? [] : [wording.say('certificate.hours', { count: hours })]),
  ];
  return [
    ...(name === undefined
      ? []
      : [[wording.say('certificate.name'), `<strong>${text(name)}</strong>`] as [string, string]]),
    [wording.say('certificate.course'), `<strong>${text(data.course_title)}</strong>`],
    [wording.say('certificate.extent'), escapeHtml(extent.join(' · '))],
    ...(completedAt === undefined
      ? []
      : [[wording.say('certificate.completed'), day(completedAt)] as [string, string]]),
    [wording.say('certificate.issued'), day(data.issued_at)],
    ...(revokedAt === undefined ? [] : [[wording.say('certificate.revoked_on'), day(revokedAt)] as [string, string]]),
    [wording.say('certificate.version'), String(data.version)],
    [wording.say('certificate.code'), `<code dir="ltr">${escapeHtml(data.code_formatted)}</code>`],
  ];
}

/** Each text gets its own writing direction. */
function text(written: string): string {
  return `<bdi>${escapeHtml(written)}</bdi>`;
}

function document(
  { language, direction }: Wording,
  { title, state, branding }: { title: string; state: string; branding?: Verification['branding'] },
  content: string,
): string {
  return `<!doctype html>
<html lang="${language}" dir="${direction}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${escapeHtml(title)}</title>
    <style>${styleOf(ownStyle, branding)}</style>
  </head>
  <body>
    <main class="${state}">
${content}
    </main>
  </body>
</html>
`;
}
