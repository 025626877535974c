/** Texts that a club writes for its transactional mails, in place of those of the catalogue. */
import type { MailTemplate } from '../../../entities/mail/values.ts';
import { parseVariables } from '../content/variables.policy.ts';
import { mailTemplates, type MailVariable, type Template } from './templates.ts';

export interface OwnText {
  subject: string;
  /** Paragraphs, with an empty line between each two. */
  text: string;
  /** The words of the button; null for those of the catalogue. */
  action: string | null;
}

/** Templates about a person's own account, which belongs to no club. */
const withoutClub = [
  'administrator_verify_email',
  'administrator_already_registered',
  'administrator_reset_password',
] as const satisfies readonly MailTemplate[];
export type ClubMailTemplate = Exclude<MailTemplate, (typeof withoutClub)[number]>;

export function isOfClub(template: MailTemplate): template is ClubMailTemplate {
  return !(withoutClub as readonly MailTemplate[]).includes(template);
}

export const clubMailTemplates = (Object.keys(mailTemplates) as MailTemplate[]).filter(isOfClub);

/** @returns the variables that texts of a template may name, the one that its text must name first */
export function variablesOf(template: MailTemplate): readonly [needed: MailVariable, ...others: MailVariable[]] {
  const rule: Template = mailTemplates[template];
  return [rule.withCode ? 'code' : 'link', 'name', 'club', ...(rule.variables ?? [])];
}

/** @returns what is wrong with a text, a sentence each, with the field that it is about */
export function problemsOf(template: MailTemplate, { subject, text, action }: OwnText): string[] {
  const [needed, ...others] = variablesOf(template);
  const inSubject = needed === 'link' ? others : [needed, ...others];
  const body = parseVariables(text, [needed, ...others], () => '');
  const leads = body.parts.some((part) => typeof part !== 'string' && part.variable === needed);
  return [
    ...parseVariables(subject, inSubject, () => '').problems.map(({ message }) => `subject: ${message}`),
    ...body.problems.map(({ message }) => `text: ${message}`),
    ...(leads ? [] : [`text: It lacks {{${needed}}}, without which nobody can use the mail.`]),
    ...(action === null
      ? []
      : parseVariables(action, [], () => '').problems.map(({ message }) => `action: ${message}`)),
  ];
}
