/** Builds all documents that people read, in one language, with values in other scripts. */
import type { OperationId } from '../../../contract/contract.ts';
import { contractOperations } from '../../../contract/contract.ts';
import { pages } from '../../../api/pages/index.ts';
import type { AnyHtmlPage } from '../../../api/page.ts';
import { noWayOut } from '../../../domain/campaigns/drafts/preview.ts';
import { prepareLayout } from '../../../domain/community/digests/layout.ts';
import { digestRules } from '../../../domain/community/digests/digests.policy.ts';
import type { NewPost, NewsOfSpace } from '../../../domain/community/digests/news.ts';
import type { ErasureCertificate } from '../../../domain/erasures/certificates/certificates.ts';
import { erasurePdf } from '../../../domain/erasures/certificates/pdf.ts';
import type { OfferedLanguage } from '../../../domain/language/languages.ts';
import { wordingIn } from '../../../domain/language/wording.ts';
import { compileEmail } from '../../../domain/mail/content/compile.ts';
import { renderEmail } from '../../../domain/mail/content/render.ts';
import { renderMail, type MailContext } from '../../../domain/mail/texts/rendering.ts';
import { mailTemplates } from '../../../domain/mail/texts/templates.ts';
import { mailTemplateNames } from '../../../entities/mail/values.ts';
import { icalendarOf } from '../../../platform/core/time/calendar.policy.ts';
import type { ErrorCode } from '../../../platform/core/error-codes.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { taggedTexts } from '../../toolkit/assert/pdf-readers.ts';
import { printCertificate } from '../learning/certificates/letters/printing.ts';

export interface Document {
  name: string;
  html?: string;
  /** For example a subject. */
  texts: readonly string[];
}

/** The values that clubs and people enter. All other words of a document come from the catalogue. */
export const values = {
  name: 'Юлия',
  club: '王会',
  lesson: 'レッスン',
  title: '結び目',
  person: '김민준',
  reason: 'דחוף',
  code: '012345',
  endpoint: 'https://x1.test/x2',
  link: 'https://x3.test/x4?x5=X6&x7=x8',
} as const;

export const at = new Date('2026-03-02T08:00:00Z');
/** 02:30 happens twice in this night, because the clocks of Berlin go back. */
const twice = new Date('2026-10-25T00:30:00Z');

function contextOf(session: MailContext['session']): MailContext {
  return {
    name: values.name,
    clubName: values.club,
    link: values.link,
    code: values.code,
    endpointUrl: values.endpoint,
    lessonTitle: values.lesson,
    ...(session && { session }),
  };
}

/** Builds each template twice: with all values, and with as few as possible. */
function mails(language: OfferedLanguage): Document[] {
  const wording = wordingIn(language);
  const full = contextOf({
    title: values.title,
    startsAt: at,
    timeZone: 'Europe/Berlin',
    withWhom: values.person,
    reason: values.reason,
  });
  const bare = {
    ...contextOf({ title: '', startsAt: twice, timeZone: 'Europe/Berlin', withWhom: '', reason: '' }),
    name: '',
    lessonTitle: '',
  };
  return mailTemplateNames.flatMap((template) =>
    (
      [
        ['', full],
        [' with little', bare],
      ] as const
    ).map(([suffix, context]) => {
      const { subject, text, html } = renderMail(template, context, wording);
      return { name: `mail ${template}${suffix}`, html, texts: [subject, text] };
    }),
  );
}

async function campaignMail(language: OfferedLanguage): Promise<Document> {
  const letterhead = { clubName: values.club, postalAddress: values.title, language };
  const email = await compileEmail(
    { subject: values.title, blocks: [{ kind: 'text', text: values.lesson }] },
    letterhead,
  );
  const { html, text } = renderEmail(email, {
    values: {
      student_first_name: values.name,
      student_name: values.name,
      student_email: 'x@x.test',
      club_name: values.club,
    },
    linkUrl: String,
    imageUrl: String,
    unsubscribeUrl: values.link,
    pixelUrl: 'https://x9.test/',
  });
  return { name: 'mail of a campaign', html, texts: [text] };
}

async function dailyMail(language: OfferedLanguage): Promise<Document[]> {
  const layout = await prepareLayout();
  const post: NewPost = {
    id: 'x1',
    publicId: 'x2',
    title: values.title,
    body: values.lesson,
    author: values.person,
    at,
  };
  const mail = (name: string, spaces: readonly NewsOfSpace[], moreSpaces: number): Document => {
    const { subject, text, html } = layout({
      news: { spaces, moreSpaces },
      clubName: values.club,
      letterhead: { clubName: values.club, postalAddress: values.title, language },
      classroom: 'https://x3.test',
      timeZone: 'Europe/Berlin',
      unsubscribeUrl: values.link,
    });
    return { name, html, texts: [subject, text] };
  };
  return [
    mail(
      'daily mail',
      [{ id: 'x4', name: values.club, count: 3, posts: [post, { ...post, title: null, body: '' }] }],
      2,
    ),
    mail('daily mail with many posts', [{ id: 'x4', name: values.club, count: digestRules.counted, posts: [post] }], 0),
  ];
}

/** The title comes from the catalogue, because a mail must not contain the mentorship's own title. */
export function calendarEntry(language: OfferedLanguage): string {
  const event = {
    method: 'REQUEST',
    id: 'x1',
    sequence: 0,
    startsAt: at,
    endsAt: new Date(at.getTime() + 3_600_000),
    stamp: at,
  } as const;
  return icalendarOf({ ...event, summary: wordingIn(language).say('calendar.session') }, 'a@x2.test', 'b@x3.test');
}

async function certificate(language: OfferedLanguage): Promise<Document> {
  const names = { studentName: values.name, courseTitle: values.title, clubName: values.club };
  const bytes = await printCertificate({ language, ...names });
  return { name: 'certificate', texts: (await taggedTexts(bytes)).map(({ text }) => text) };
}

/** The sample names of student and course come from the catalogue (DEC-187). */
async function certificatePreview(language: OfferedLanguage): Promise<Document> {
  const { say } = wordingIn(language);
  const [studentName, courseTitle] = [say('certificate.sample.student'), say('certificate.sample.course')];
  const bytes = await printCertificate({ language, studentName, courseTitle, clubName: values.club });
  return { name: 'certificate preview', texts: (await taggedTexts(bytes)).map(({ text }) => text) };
}

/** Certificates of erasure of each kind, each on one page. Their ids, names of tables and numbers are no words. */
async function erasureCertificates(language: OfferedLanguage): Promise<Document[]> {
  const common = {
    format: 1,
    issuer: 'https://x1.test',
    erasure_id: 'x2',
    subject_id: 'x3',
    requested_at: at.toISOString(),
    began_at: at.toISOString(),
    completed_at: at.toISOString(),
    tables: [{ table: 'x4', rows: 3 }],
    buckets: [{ bucket: 'x5', objects: 2 }],
    runs: 1,
  };
  const receivers = (['pending', 'succeeded', 'failed', 'canceled'] as const).map((status) => ({
    endpoint_id: 'x6',
    delivery_id: 'x7',
    status,
  }));
  const certificates: ErasureCertificate[] = [
    { ...common, kind: 'club', closed_at: at.toISOString(), requested_by: 'x8' },
    { ...common, kind: 'student', club_id: 'x9', receivers },
    { ...common, kind: 'student', club_id: 'x9', receivers: [] },
    { ...common, kind: 'administrator' },
  ];
  const signature = `${Buffer.from('{"kid":"x0"}').toString('base64url')}.e30.x0`;
  return Promise.all(
    certificates.map(async (printed) => {
      const bytes = await erasurePdf({ certificate: printed, signature, address: 'https://x1.test/x2', language });
      const texts = (await taggedTexts(bytes)).map(({ text }) => text);
      return {
        name: `certificate of erasure ${printed.kind}`,
        texts: texts.filter((text) => !/^[0-9a-f]{64}$/.test(text)),
      };
    }),
  );
}

type Answers = { readonly [Op in OperationId]?: readonly (readonly [state: string, answer: object])[] };

/** The walk test fails for a page without answers in this function. */
function answersOf(language: OfferedLanguage): Answers {
  const branding = { accent_color: '#1f4fd8', links: [] };
  const verified = {
    code: 'K7QM4XPA9T2F',
    code_formatted: 'K7QM-4XPA-9T2F',
    student_name: values.name,
    course_title: values.title,
    club_name: values.club,
    branding,
    language,
    time_zone: 'Europe/Berlin',
    lesson_count: 3,
    hours: 2,
    version: 1,
    issued_at: at.toISOString(),
    completed_at: at.toISOString(),
  };
  const preview = {
    campaign_name: values.title,
    language,
    student_name: values.name,
    subject: values.lesson,
    preheader: values.club,
    html: `<!doctype html><html><head></head><body><a href="${noWayOut}">王</a></body></html>`,
    text: values.lesson,
    expires_at: at.toISOString(),
  };
  const kinds = ['campaigns', 'automations', 'digests'] as const;
  const preferences = kinds.flatMap((kind) =>
    [true, false].map((subscribed) => {
      const others = kinds.filter((other) => other !== kind).map((other) => ({ kind: other, subscribed, token: 'x1' }));
      const preference = { club_name: values.club, branding, language, kind, subscribed, token: 'x2', others };
      return [`${kind} ${subscribed ? 'on' : 'off'}`, { data: preference }] as const;
    }),
  );
  const { student_name: _, ...ofNobody } = preview;
  return {
    verifyCertificate: [
      ['valid', { data: { ...verified, state: 'valid' } }],
      ['revoked', { data: { ...verified, state: 'revoked', revoked_at: at.toISOString() } }],
      ['withdrawn', { data: { ...verified, state: 'withdrawn' } }],
    ],
    showCampaignPreview: [
      ['of a student', { data: preview }],
      ['of nobody', { data: ofNobody }],
      ['too large', { data: { ...preview, html: `${preview.html}${'王'.repeat(400_000)}` } }],
    ],
    getMailPreference: preferences,
    unsubscribe: preferences,
    resubscribe: preferences,
  };
}

/** One page for each answer and for each refusal code of the operation. */
function pagesOf(language: OfferedLanguage): Document[] {
  const answers = answersOf(language);
  return contractOperations()
    .filter(({ contentTypes }) => contentTypes.includes('text/html'))
    .flatMap(({ operationId, errorCodes }) => {
      const page = pages[operationId] as AnyHtmlPage | undefined;
      const cases = answers[operationId] ?? [];
      if (!page || cases.length === 0) throw new Error(`The page of ${operationId} has no case in this file`);
      const refusalCodes = new Set<ErrorCode>([...errorCodes, 'rate_limited', 'rate_limit_unavailable', 'token_gone']);
      return [
        ...cases.map(([state, answer]) => ({
          name: `page ${operationId} ${state}`,
          html: page.answer(answer as never),
        })),
        ...[...refusalCodes].map((code) => ({
          name: `page ${operationId} refused: ${code}`,
          html: page.refusal(new DomainError(code, 'Words that only programmers read.'), wordingIn(language)),
        })),
      ].map((one) => ({ ...one, texts: [] }));
    });
}

export async function documentsIn(language: OfferedLanguage): Promise<Document[]> {
  const subject = wordingIn(language).say('test_mail.subject', { subject: values.title });
  return [
    ...mails(language),
    await campaignMail(language),
    { name: 'test mail', texts: [subject] },
    { name: 'code to a telephone number', texts: [wordingIn(language).say('phone.code', { code: values.code })] },
    ...(await dailyMail(language)),
    await certificate(language),
    await certificatePreview(language),
    ...(await erasureCertificates(language)),
    ...pagesOf(language),
  ];
}

export const mailsWithLink = mailTemplateNames.filter((template) => !('withCode' in mailTemplates[template]));
