/** Renders a transactional mail in the language of its reader, with the branding and the texts of its club. */
import { escapeHtml } from '../../../platform/core/text/text.policy.ts';
import type { MailTemplate } from '../../../entities/mail/values.ts';
import { noBranding, type Branding } from '../../branding/branding.ts';
import { footerHtml, footerText, logoHtml } from '../../branding/html.ts';
import type { MessageArguments } from '../../language/arguments.ts';
import { dirAttribute, isolated } from '../../language/bidi.policy.ts';
import type { Wording } from '../../language/wording.ts';
import { parseVariables, type TemplatePart } from '../content/variables.policy.ts';
import { variablesOf, type OwnText } from './own-text.ts';
import { mailTemplates, type MailVariable, type Template } from './templates.ts';

export interface MailContext {
  /** The recipient's name; empty if the account is not confirmed. */
  name: string;
  /** Empty if the mail is about the person's own account. */
  clubName: string;
  /** The address of the page that the mail links to, with its token. */
  link: string;
  /** The six digits of a code. */
  code: string;
  /** The address of the webhook endpoint that the mail is about. */
  endpointUrl: string;
  /** The title of the lesson to which the reviewed assignment belongs. */
  lessonTitle: string;
  /** The mentorship session that the mail is about; undefined for other mails. */
  session?: SessionWords;
  /** The sign-in that the mail is about; undefined for other mails. */
  signIn?: SignInWords;
  /** When the club is erased; undefined for other mails. `timeZone` is the IANA name of the time zone in which the mail shows the time. */
  erasure?: { at: Date; timeZone: string };
}

export interface SignInWords {
  /** The kind of the device, such as `Firefox (Windows)`; null if it is unknown. */
  device: string | null;
  /** The network in CIDR notation; null if it is unknown. */
  network: string | null;
  at: Date;
  /** The IANA name of the time zone in which the mail shows the time. */
  timeZone: string;
}

export interface SessionWords {
  /** The mentorship's title; empty if the title must not appear in mails. */
  title: string;
  startsAt: Date;
  /** The IANA name of the time zone in which the mail shows the start. */
  timeZone: string;
  /** The name of the person whom the reader meets; empty if the name must not appear in mails. */
  withWhom: string;
  /** The reason why the session was canceled; empty if no reason was given. */
  reason: string;
}

/** The branding and the text of a mail. */
export interface MailStyle {
  branding?: Branding;
  /** The club's own text. Undefined if the mail uses the text of the catalogue. */
  own?: OwnText | undefined;
}

export interface RenderedMail {
  subject: string;
  text: string;
  html: string;
}

/** @returns the mail as plain text and HTML; every value is escaped in the HTML, and the subject has no line breaks */
export function renderMail(
  template: MailTemplate,
  context: MailContext,
  wording: Wording,
  { branding = noBranding, own }: MailStyle = {},
): RenderedMail {
  const { subject, paragraphs } = own
    ? wordsOfClub(template, own, context, wording)
    : wordsOfCatalogue(template, context, wording);
  const { accentColor } = branding;
  const action = hasLink(template) ? (own?.action ?? wording.say(`mail.${template}.action`)) : '';
  const link = { url: context.link, action };
  return {
    subject: subject.replace(/[\r\n]+/g, ' '),
    text: [...paragraphs.map((paragraph) => paragraphText(paragraph, link)), ...footerText(branding)]
      .join('\n\n')
      .concat('\n'),
    html: documentOf(
      [
        logoHtml(branding, context.clubName),
        ...paragraphs.map((paragraph) => paragraphHtml(paragraph, link, { accentColor, wording })),
        footOf(branding, wording),
      ],
      { accentColor, wording },
    ),
  };
}

/** @returns the catalogue's text, in the form in which a club writes a text: with variables instead of values */
export function standardText(template: MailTemplate, wording: Wording): OwnText {
  const { withReason }: Template = mailTemplates[template];
  const variableNames: MailContext = {
    name: '{{name}}',
    clubName: '{{club}}',
    link: '{{link}}',
    code: '{{code}}',
    endpointUrl: '{{endpoint_url}}',
    lessonTitle: '{{lesson}}',
    session: {
      title: '{{session}}',
      startsAt: new Date(0),
      timeZone: 'UTC',
      withWhom: '{{person}}',
      reason: withReason ? '{{reason}}' : '',
    },
  };
  const { subject, paragraphs } = wordsOfCatalogue(template, variableNames, wording, {
    ...valuesOf(variableNames, wording),
    at: '{{at}}',
  });
  const withVariable = (paragraph: Paragraph) =>
    paragraph.map((part) => (part === linkMark ? '{{link}}' : part)).join('');
  return {
    subject: withoutIsolates(subject),
    text: withoutIsolates(paragraphs.map(withVariable).join('\n\n')),
    action: hasLink(template) ? wording.say(`mail.${template}.action`) : null,
  };
}

/**
 * Removes direction isolates. An Arabic text isolates its variables, because they have Latin names. The values get isolates of their own.
 */
const withoutIsolates = (text: string) => text.replaceAll(/[\u2068\u2069]/g, '');

/** Marks the position of the link in a paragraph. */
const linkMark: unique symbol = Symbol('link');
type Paragraph = readonly (string | typeof linkMark)[];

interface MailWords {
  subject: string;
  paragraphs: readonly Paragraph[];
}

function wordsOfCatalogue(
  template: MailTemplate,
  context: MailContext,
  wording: Wording,
  values = valuesOf(context, wording),
): MailWords {
  const { name, session } = context;
  const greeting = name === '' ? wording.say('mail.greeting_without_name') : wording.say('mail.greeting', { name });
  const reason = session?.reason ?? '';
  const paragraphs = [
    greeting,
    ...wording.say(`mail.${template}.text`, values).split('\n\n'),
    ...(reason === '' ? [] : [reason]),
  ];
  return {
    subject: wording.say(`mail.${template}.subject`, values),
    paragraphs: [
      ...paragraphs.map((paragraph): Paragraph => [paragraph]),
      ...(hasLink(template) ? [[linkMark] as const] : []),
    ],
  };
}

function wordsOfClub(template: MailTemplate, own: OwnText, context: MailContext, wording: Wording): MailWords {
  const values = ownValues(context, wording);
  const partsOf = (text: string) =>
    parseVariables(text, variablesOf(template), (name) => fallbackOf(name, wording)).parts.map((part) =>
      fillPart(part, values, wording),
    );
  // A paragraph with a single variable is left out if the variable has no value.
  const paragraphs = own.text
    .split(/\n{2,}/)
    .map(partsOf)
    .filter(hasWords);
  return {
    subject: partsOf(own.subject)
      .map((part) => (part === linkMark ? '' : part))
      .join(''),
    paragraphs,
  };
}

function fillPart(
  part: TemplatePart<MailVariable>,
  values: Readonly<Record<Exclude<MailVariable, 'link'>, string>>,
  { direction }: Wording,
): string | typeof linkMark {
  if (typeof part === 'string') return part;
  if (part.variable === 'link') return linkMark;
  return isolated(values[part.variable] || part.fallback, direction);
}

const fallbackOf = (name: MailVariable, wording: Wording): string =>
  name === 'name'
    ? wording.say('mail.student_without_name')
    : name === 'session'
      ? wording.say('calendar.session')
      : '';

function ownValues(
  { name, clubName, code, endpointUrl, lessonTitle, session }: MailContext,
  wording: Wording,
): Record<Exclude<MailVariable, 'link'>, string> {
  return {
    name,
    club: clubName,
    code,
    endpoint_url: endpointUrl,
    lesson: lessonTitle,
    session: session?.title ?? '',
    person: session?.withWhom ?? '',
    at: momentOf(session, wording),
    reason: session?.reason ?? '',
  };
}

/** All values that the messages of mails can contain. */
type MailValues = UnionToIntersection<MessageArguments[`mail.${MailTemplate}.${'subject' | 'text'}`]>;
type UnionToIntersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer All,
) => void
  ? { [Name in keyof All]: All[Name] }
  : never;

function valuesOf(
  { clubName, code, endpointUrl, lessonTitle, session, signIn, erasure }: MailContext,
  wording: Wording,
): MailValues {
  const title = session?.title ?? '';
  const person = session?.withWhom ?? '';
  const dated = signIn ?? erasure;
  return {
    club: clubName,
    code,
    url: endpointUrl,
    lesson: lessonTitle,
    has_lesson: isPresent(lessonTitle),
    title,
    has_title: isPresent(title),
    person,
    has_person: isPresent(person),
    device: signIn?.device ?? wording.say('mail.unknown_device'),
    network: signIn?.network ?? wording.say('mail.unknown_network'),
    at: dated ? wording.moment(dated.at, dated.timeZone) : momentOf(session, wording),
  };
}

const momentOf = (session: SessionWords | undefined, wording: Wording) =>
  session === undefined ? '' : wording.moment(session.startsAt, session.timeZone);

/** Returns the option of ICU's `select` for a text: `no` if the text is empty, otherwise `yes`. */
const isPresent = (text: string) => (text === '' ? 'no' : 'yes');

type TemplateWithLink = {
  [Each in MailTemplate]: (typeof mailTemplates)[Each] extends { withCode: true } ? never : Each;
}[MailTemplate];

const hasLink = (template: MailTemplate): template is TemplateWithLink => !('withCode' in mailTemplates[template]);

interface Link {
  url: string;
  action: string;
}

const hasWords = (paragraph: Paragraph) => paragraph.some((part) => part === linkMark || part.trim() !== '');

/** A paragraph that consists only of a link becomes a button. */
const isButton = (paragraph: Paragraph) =>
  paragraph.includes(linkMark) && paragraph.every((part) => part === linkMark || part.trim() === '');

const paragraphText = (paragraph: Paragraph, { url, action }: Link) =>
  isButton(paragraph) ? `${action}: ${url}` : paragraph.map((part) => (part === linkMark ? url : part)).join('');

interface Look {
  accentColor: string;
  wording: Wording;
}

function paragraphHtml(paragraph: Paragraph, { url, action }: Link, { accentColor, wording }: Look): string {
  if (isButton(paragraph))
    return `<p><a href="${escapeHtml(url)}" style="display:inline-block;padding:12px 20px;border-radius:6px;background:${accentColor};color:#fff;text-decoration:none">${escapeHtml(action)}</a></p>`;
  const words = paragraph.filter((part) => part !== linkMark).join('');
  const html = paragraph.map((part) =>
    part === linkMark
      ? `<a href="${escapeHtml(url)}" style="color:${accentColor}">${escapeHtml(action)}</a>`
      : escapeHtml(part).replaceAll('\n', '<br>'),
  );
  return `<p${dirAttribute(words, wording.direction)}>${html.join('')}</p>`;
}

function footOf(branding: Branding, { direction }: Wording): string {
  const foot = footerHtml(branding, direction);
  return foot === ''
    ? ''
    : `<div style="margin-top:32px;padding-top:8px;border-top:1px solid #d8dbe2;font-size:13px;color:#5b6270">${foot}</div>`;
}

const documentOf = (parts: readonly string[], { accentColor, wording: { language, direction } }: Look) =>
  `<!doctype html><html lang="${language}" dir="${direction}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>a{color:${accentColor}}</style></head><body style="font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:24px auto;padding:0 16px;text-align:start;overflow-wrap:anywhere">${parts.join('')}</body></html>`;
