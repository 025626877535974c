/** Renders a transactional mail in the language of its reader. */
import { escapeHtml } from '../../platform/core/text.policy.ts';
import type { MailTemplate } from '../../entities/mail/values.ts';
import type { MessageArguments } from '../language/arguments.ts';
import type { Wording } from '../language/wording.ts';
import { mailTemplates } from './templates.ts';

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

export interface RenderedMail {
  subject: string;
  text: string;
  html: string;
}

/** Every value that a message of a mail may name. */
type MailValues = UnionToIntersection<MessageArguments[`mail.${MailTemplate}.${'subject' | 'text'}`]>;
type UnionToIntersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer All,
) => void
  ? { [Name in keyof All]: All[Name] }
  : never;

/** @returns the mail as plain text and as HTML; every value is escaped in the HTML, and no line break enters the subject */
export function renderMail(template: MailTemplate, context: MailContext, wording: Wording): RenderedMail {
  const values = valuesOf(context, wording);
  const greeting =
    context.name === ''
      ? wording.say('mail.greeting_without_name')
      : wording.say('mail.greeting', { name: context.name });
  const reason = context.session?.reason ?? '';
  const paragraphs = [
    greeting,
    ...wording.say(`mail.${template}.text`, values).split('\n\n'),
    ...(reason === '' ? [] : [reason]),
  ];
  const action = hasLink(template) ? wording.say(`mail.${template}.action`) : undefined;
  return {
    subject: wording.say(`mail.${template}.subject`, values).replace(/[\r\n]+/g, ' '),
    text: [...paragraphs, ...(action === undefined ? [] : [`${action}: ${context.link}`])].join('\n\n').concat('\n'),
    html: documentOf(
      [
        ...paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`),
        ...(action === undefined ? [] : [button(action, context.link)]),
      ],
      wording,
    ),
  };
}

type TemplateWithLink = {
  [Each in MailTemplate]: (typeof mailTemplates)[Each] extends { withCode: true } ? never : Each;
}[MailTemplate];

const hasLink = (template: MailTemplate): template is TemplateWithLink => !('withCode' in mailTemplates[template]);

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
    at: session === undefined ? '' : wording.moment(session.startsAt, session.timeZone),
  };
}

/** An option of ICU's `select`. */
const given = (text: string) => (text === '' ? 'no' : 'yes');

const button = (words: string, link: string) =>
  `<p><a href="${escapeHtml(link)}" style="display:inline-block;padding:12px 20px;border-radius:6px;background:#1f4fd8;color:#fff;text-decoration:none">${escapeHtml(words)}</a></p>`;

const documentOf = (parts: readonly string[], { language, direction }: Wording) =>
  `<!doctype html><html lang="${language}" dir="${direction}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"></head><body style="font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:24px auto;padding:0 16px;text-align:start;overflow-wrap:anywhere">${parts.join('')}</body></html>`;
