/** The values that columns of transactional mails may hold. */

export const mailTemplateNames = [
  'student_verify_email',
  'student_already_registered',
  'student_invitation',
  'student_reset_password',
  'student_code',
  'student_address_changed',
  'student_password_changed',
  'student_new_device',
  'student_passkey_added',
  'student_passkey_removed',
  'administrator_verify_email',
  'administrator_already_registered',
  'administrator_reset_password',
  'administrator_password_changed',
  'administrator_new_device',
  'administrator_invitation',
  'administrator_factor_added',
  'administrator_factor_removed',
  'administrator_recovery_code_used',
  'administrator_recovery_codes_replaced',
  'administrator_identity_code',
  'administrator_identity_joined',
  'administrator_identity_removed',
  'api_key_created',
  'club_erasure_requested',
  'club_erasure_reminder',
  'club_erasure_canceled',
  'webhook_endpoint_failing',
  'webhook_endpoint_gone',
  'webhook_endpoint_throttled',
  'assignment_approved',
  'assignment_changes_requested',
  'media_expiring',
  'mentorship_booked',
  'mentorship_canceled',
  'mentorship_day_before',
  'mentorship_hour_before',
  'mentorship_rating',
  'mentorship_mentor_booked',
  'mentorship_mentor_canceled',
  'mentorship_mentor_replaced',
] as const;
export type MailTemplate = (typeof mailTemplateNames)[number];

/** The purposes of one-time tokens. The first word of each value names the kind of the token's owner. */
export const tokenPurposes = [
  'student_verify_email',
  'student_invitation',
  'student_reset_password',
  'student_code',
  'student_sign_up_again',
  'administrator_verify_email',
  'administrator_reset_password',
  'administrator_sign_up_again',
  'administrator_invitation',
  'administrator_identity_code',
] as const;
export type TokenPurpose = (typeof tokenPurposes)[number];

export const mailStatuses = ['pending', 'sent', 'failed', 'canceled'] as const;
export type MailStatus = (typeof mailStatuses)[number];

/** The events that a club tracks for the mails of its campaigns and automations. */
export const trackings = ['all', 'clicks', 'none'] as const;
export type Tracking = (typeof trackings)[number];

/** The statuses of a mail domain: whether DNS proves that it belongs to the club. */
export const domainStatuses = ['unproven', 'proven', 'lapsed'] as const;
export type DomainStatus = (typeof domainStatuses)[number];

/** The reasons why mails are no longer sent to an address. */
export const suppressionReasons = ['bounce', 'complaint', 'manual'] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

/** The statuses of the mail to one recipient. */
export const recipientStatuses = ['pending', 'sending', 'sent', 'skipped', 'failed'] as const;
export type RecipientStatus = (typeof recipientStatuses)[number];

/** The reasons why a recipient gets no mail. */
export const skipReasons = [
  'suppressed',
  'unsubscribed',
  'bounced',
  'complained',
  'invalid_email',
  'no_longer_eligible',
  'student_removed',
  'canceled',
] as const;
export type SkipReason = (typeof skipReasons)[number];
