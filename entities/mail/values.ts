/** The values that columns of transactional mails may hold. */

export const mailTemplateNames = [
  'student_verify_email',
  'student_already_registered',
  'student_invitation',
  'student_reset_password',
  'student_code',
  'student_address_changed',
  'administrator_verify_email',
  'administrator_already_registered',
  'administrator_reset_password',
  'administrator_invitation',
  'webhook_endpoint_failing',
] as const;
export type MailTemplate = (typeof mailTemplateNames)[number];

export const mailStatuses = ['pending', 'sent', 'failed', 'canceled'] as const;
export type MailStatus = (typeof mailStatuses)[number];
