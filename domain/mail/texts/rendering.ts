/** Renders a transactional mail in the language of its reader, with the face and the texts of its club. */
import { escapeHtml } from '../../../platform/core/text.policy.ts';
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
  /** The recipient's name; empty for somebody who has no confirmed account. */
  name: string;
  /** The club that the mail is about; empty if it is about the person's own account. */
  clubName: string;
  /** The address of the page that the mail leads to, its token included. */
  link: string;
  /** The six digits of a code. */
  code: string;
  /** The address of the webhook endpoint that the mail is about. */
  endpointUrl: string;
  /** The lesson of the reviewed assignment. */
  lessonTitle: string;
  /** The session of a mentorship that the mail is about; undefined if it is about none. */
  session?: SessionWords;
}

export interface SessionWords {
  /** The mentorship's title; empty if it must not stand in a mail. */
  title: string;
  startsAt: Date;
  /** IANA name of the zone by whose clock the mail shows the beginning. */
  timeZone: string;
  /** The person whom the reader meets; empty if the name must not stand in a mail. */
  withWhom: string;
  /** Why it was canceled; empty if nobody gave a reason. */
  reason: string;
}

/** How a club's mails look and read. */
export interface MailStyle {
  branding?: Branding;
  /** Undefined for the text of the catalogue. */
  own?: OwnText | undefined;
}

export interface RenderedMail {
  subject: string;
  text: string;
  html: string;
}

/** @returns the mail as plain text and as HTML; every value is escaped in the HTML, and no line break enters the subject */
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

/** @returns the text of the catalogue as a club would write it, with variables in place of values */
export function standardText(template: MailTemplate, wording: Wording): OwnText {
  const { withReason }: Template = mailTemplates[template];
  const named: MailContext = {
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
  const { subject, paragraphs } = wordsOfCatalogue(template, named, wording, {
    ...valuesOf(named, wording),
    at: '{{at}}',
  });
  const withVariable = (paragraph: Paragraph) =>
    paragraph.map((part) => (part === linkHere ? '{{link}}' : part)).join('');
  return {
    subject: withoutIsolates(subject),
    text: withoutIsolates(paragraphs.map(withVariable).join('\n\n')),
    action: hasLink(template) ? wording.say(`mail.${template}.action`) : null,
  };
}

/** Variables are Latin letters, which stand in isolates among Arabic ones: their values get isolates of their own. */
const withoutIsolates = (text: string) => text.replaceAll(/[\u2068\u2069]/g, '');

/** The place of the link in a paragraph. */
const linkHere: unique symbol = Symbol('link');
type Paragraph = readonly (string | typeof linkHere)[];

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
      ...(hasLink(template) ? [[linkHere] as const] : []),
    ],
  };
}

function wordsOfClub(template: MailTemplate, own: OwnText, context: MailContext, wording: Wording): MailWords {
  const values = ownValues(context, wording);
  const partsOf = (text: string) =>
    parseVariables(text, variablesOf(template), (name) => fallbackOf(name, wording)).parts.map((part) =>
      filled(part, values, wording),
    );
  // A paragraph of a variable alone goes with its value.
  const paragraphs = own.text
    .split(/\n{2,}/)
    .map(partsOf)
    .filter(hasWords);
  return {
    subject: partsOf(own.subject)
      .map((part) => (part === linkHere ? '' : part))
      .join(''),
    paragraphs,
  };
}

function filled(
  part: TemplatePart<MailVariable>,
  values: Readonly<Record<Exclude<MailVariable, 'link'>, string>>,
  { direction }: Wording,
): string | typeof linkHere {
  if (typeof part === 'string') return part;
  if (part.variable === 'link') return linkHere;
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

/** Every value that a message of a mail may name. */
type MailValues = UnionToIntersection<MessageArguments[`mail.${MailTemplate}.${'subject' | 'text'}`]>;
type UnionToIntersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer All,
) => void
  ? { [Name in keyof All]: All[Name] }
  : never;

function valuesOf({ clubName, code, endpointUrl, lessonTitle, session }: MailContext, wording: Wording): MailValues {
  const title = session?.title ?? '';
  const person = session?.withWhom ?? '';
  return {
    club: clubName,
    code,
    url: endpointUrl,
    lesson: lessonTitle,
    has_lesson: given(lessonTitle),
    title,
    has_title: given(title),
    person,
    has_person: given(person),
    at: momentOf(session, wording),
  };
}

const momentOf = (session: SessionWords | undefined, wording: Wording) =>
  session === undefined ? '' : wording.moment(session.startsAt, session.timeZone);

/** An option of ICU's `select`. */
const given = (text: string) => (text === '' ? 'no' : 'yes');

type TemplateWithLink = {
  [Each in MailTemplate]: (typeof mailTemplates)[Each] extends { withCode: true } ? never : Each;
}[MailTemplate];

const hasLink = (template: MailTemplate): template is TemplateWithLink => !('withCode' in mailTemplates[template]);

interface Link {
  url: string;
  action: string;
}

const hasWords = (paragraph: Paragraph) => paragraph.some((part) => part === linkHere || part.trim() !== '');

/** A link that is a whole paragraph is a button. */
const isButton = (paragraph: Paragraph) =>
  paragraph.includes(linkHere) && paragraph.every((part) => part === linkHere || part.trim() === '');

const paragraphText = (paragraph: Paragraph, { url, action }: Link) =>
  isButton(paragraph) ? `${action}: ${url}` : paragraph.map((part) => (part === linkHere ? url : part)).join('');

interface Look {
  accentColor: string;
  wording: Wording;
}

function paragraphHtml(paragraph: Paragraph, { url, action }: Link, { accentColor, wording }: Look): string {
  if (isButton(paragraph))
    return `<p><a href="${escapeHtml(url)}" style="display:inline-block;padding:12px 20px;border-radius:6px;background:${accentColor};color:#fff;text-decoration:none">${escapeHtml(action)}</a></p>`;
  const words = paragraph.filter((part) => part !== linkHere).join('');
  const html = paragraph.map((part) =>
    part === linkHere
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
