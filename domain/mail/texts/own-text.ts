/** The rules for texts that a club writes for its transactional mails. Such a text replaces the text of the catalogue. */
import type { MailTemplate } from '../../../entities/mail/values.ts';
import { parseVariables } from '../content/variables.policy.ts';
import { mailTemplates, type MailVariable, type Template } from './templates.ts';

export interface OwnText {
  subject: string;
  text: string;
  /** The label of the button; null if the mail uses the label of the catalogue. */
  action: string | null;
}

/**
 * Templates of mails about a person's own account, and of warnings: a new key, a new password, a new device, a changed passkey, or the
 * erasure of the club. A club cannot change the texts of these mails, so it cannot hide a warning.
 */
const withoutClub = [
  'student_password_changed',
  'student_new_device',
  'administrator_verify_email',
  'administrator_already_registered',
  'administrator_reset_password',
  'administrator_factor_added',
  'administrator_factor_removed',
  'administrator_recovery_code_used',
  'administrator_recovery_codes_replaced',
  'administrator_password_changed',
  'administrator_new_device',
  'student_passkey_added',
  'student_passkey_removed',
  'administrator_identity_code',
  'administrator_identity_joined',
  'administrator_identity_removed',
  'api_key_created',
  'club_erasure_requested',
  'club_erasure_reminder',
  'club_erasure_canceled',
] as const satisfies readonly MailTemplate[];
export type ClubMailTemplate = Exclude<MailTemplate, (typeof withoutClub)[number]>;

export function isOfClub(template: MailTemplate): template is ClubMailTemplate {
  return !(withoutClub as readonly MailTemplate[]).includes(template);
}

export const clubMailTemplates = (Object.keys(mailTemplates) as MailTemplate[]).filter(isOfClub);

/** @returns the variables of a template. A text for this template must contain the first of these variables */
export function variablesOf(template: MailTemplate): readonly [needed: MailVariable, ...others: MailVariable[]] {
  const rule: Template = mailTemplates[template];
  return [rule.withCode ? 'code' : 'link', 'name', 'club', ...(rule.variables ?? [])];
}

/** @returns the problems of a text. Each problem is a sentence that starts with the name of the field */
export function problemsOf(template: MailTemplate, { subject, text, action }: OwnText): string[] {
  const [needed, ...others] = variablesOf(template);
  const inSubject = needed === 'link' ? others : [needed, ...others];
  const body = parseVariables(text, [needed, ...others], () => '');
  const hasNeeded = body.parts.some((part) => typeof part !== 'string' && part.variable === needed);
  return [
    ...parseVariables(subject, inSubject, () => '').problems.map(({ message }) => `subject: ${message}`),
    ...body.problems.map(({ message }) => `text: ${message}`),
    ...(hasNeeded ? [] : [`text: {{${needed}}} is missing. The mail is useless without it.`]),
    ...(action === null
      ? []
      : parseVariables(action, [], () => '').problems.map(({ message }) => `action: ${message}`)),
  ];
}
