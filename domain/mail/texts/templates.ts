/**
 * The rules of transactional mails, with one template for each kind of mail. The texts of the mails are in the catalogues of
 * domain/language. The contexts read the rows that a mail is about ({@link file://./../kinds.ts}).
 */
import type { Priority } from '../../../entities/facts/values.ts';
import type { MailTemplate } from '../../../entities/mail/values.ts';
import type { TokenPurpose } from '../../../entities/mail/values.ts';

/** The variables of a text. A text must contain its variable `link` or `code`, because the mail is useless without the link or the code. */
export type MailVariable =
  | 'name'
  | 'club'
  | 'link'
  | 'code'
  | 'endpoint_url'
  | 'lesson'
  | 'session'
  | 'person'
  | 'at'
  | 'reason';

export interface Template {
  /** The purpose of the token in the mail; absent if the mail has no token. */
  purpose?: TokenPurpose;
  /** Most of these mails are urgent, because a person waits for them. */
  priority: Priority;
  /** The variables of the text, in addition to the link or code, the name and the club. */
  variables?: readonly MailVariable[];
  /** Whether the catalogue's text ends with the reason of a cancellation, if the mail has such a reason. */
  withReason?: true;
  /** The club sends the mail on its own initiative, perhaps to strangers, so a daily limit applies (DEC-65). */
  paced?: true;
  /** Whether the mail is sent to the student's former address. The request for the mail contains this address. */
  toFormerAddress?: true;
  /** Whether the mail is sent to an address that may have no account. The request for the mail contains this address. */
  toGivenAddress?: true;
  /**
   * True if the hourly limit of an address does not apply to this template, because the number of its mails is already limited. For
   * example, each review needs a submission of the student, and LIM-10 limits bookings.
   */
  uncapped?: true;
  /** The path of the linked page. The token replaces `{token}`, and the id of the mail's row replaces `{id}`. */
  path: string;
  /** The site to which the linked page belongs. */
  site: 'classroom' | 'dashboard';
  /** Whether the mail contains a code to type instead of a link. */
  withCode?: true;
}

const ofSession = { priority: 1, uncapped: true, variables: ['session', 'person', 'at', 'reason'] } as const;
const ofStudent = { ...ofSession, site: 'classroom', path: '/mentorships/sessions/{id}' } as const;
const ofMentor = { ...ofSession, site: 'dashboard', path: '/mentorship-sessions/{id}' } as const;

/** The number of these mails is limited, because each request and each cancellation needs a fresh factor. */
const aboutErasure = { priority: 1, uncapped: true, site: 'dashboard', path: '/settings/erasure' } as const;

/** Each of these mails needs a fresh factor of the person, or uses up one of ten codes. */
const aboutFactors = { priority: 1, uncapped: true, site: 'dashboard', path: '/profile/security' } as const;

export const mailTemplates = {
  student_verify_email: {
    priority: 0,
    purpose: 'student_verify_email',
    site: 'classroom',
    path: '/verify-email?token={token}',
  },
  student_already_registered: {
    priority: 0,
    site: 'classroom',
    path: '/sign-in',
  },
  student_invitation: {
    priority: 1,
    paced: true,
    purpose: 'student_invitation',
    site: 'classroom',
    path: '/verify-email?token={token}',
  },
  student_reset_password: {
    priority: 0,
    purpose: 'student_reset_password',
    site: 'classroom',
    path: '/reset-password?token={token}',
  },
  student_code: {
    priority: 0,
    withCode: true,
    purpose: 'student_code',
    site: 'classroom',
    path: '/sign-in',
  },
  student_address_changed: {
    priority: 1,
    toFormerAddress: true,
    site: 'classroom',
    path: '/',
  },
  student_password_changed: {
    priority: 0,
    site: 'classroom',
    path: '/sign-in',
  },
  student_new_device: {
    priority: 0,
    site: 'classroom',
    path: '/account/sessions',
  },
  student_passkey_added: { priority: 1, site: 'classroom', path: '/passkeys' },
  student_passkey_removed: { priority: 1, site: 'classroom', path: '/passkeys' },
  administrator_verify_email: {
    priority: 0,
    purpose: 'administrator_verify_email',
    site: 'dashboard',
    path: '/verify-email?token={token}',
  },
  administrator_already_registered: {
    priority: 0,
    site: 'dashboard',
    path: '/sign-in',
  },
  administrator_reset_password: {
    priority: 0,
    purpose: 'administrator_reset_password',
    site: 'dashboard',
    path: '/reset-password?token={token}',
  },
  administrator_password_changed: {
    priority: 0,
    site: 'dashboard',
    path: '/sign-in',
  },
  administrator_new_device: {
    priority: 0,
    site: 'dashboard',
    path: '/account/sessions',
  },
  administrator_invitation: {
    priority: 1,
    paced: true,
    purpose: 'administrator_invitation',
    site: 'dashboard',
    path: '/invitations/accept?token={token}',
  },
  administrator_factor_added: aboutFactors,
  administrator_factor_removed: aboutFactors,
  administrator_recovery_code_used: aboutFactors,
  administrator_recovery_codes_replaced: aboutFactors,
  administrator_identity_code: {
    priority: 0,
    withCode: true,
    toGivenAddress: true,
    purpose: 'administrator_identity_code',
    site: 'dashboard',
    path: '/sign-in',
  },
  administrator_identity_joined: {
    priority: 1,
    uncapped: true,
    site: 'dashboard',
    path: '/account/identities',
  },
  administrator_identity_removed: {
    priority: 1,
    uncapped: true,
    site: 'dashboard',
    path: '/account/identities',
  },
  api_key_created: {
    priority: 1,
    uncapped: true,
    site: 'dashboard',
    path: '/api-keys',
  },
  club_erasure_requested: aboutErasure,
  club_erasure_reminder: aboutErasure,
  club_erasure_canceled: aboutErasure,
  webhook_endpoint_failing: {
    priority: 1,
    variables: ['endpoint_url'],
    uncapped: true,
    site: 'dashboard',
    path: '/webhooks/{id}',
  },
  webhook_endpoint_gone: {
    priority: 1,
    variables: ['endpoint_url'],
    uncapped: true,
    site: 'dashboard',
    path: '/webhooks/{id}',
  },
  webhook_endpoint_throttled: {
    priority: 1,
    variables: ['endpoint_url'],
    uncapped: true,
    site: 'dashboard',
    path: '/webhooks/{id}',
  },
  assignment_approved: {
    priority: 1,
    variables: ['lesson'],
    uncapped: true,
    site: 'classroom',
    path: '/assignments/submissions/{id}',
  },
  assignment_changes_requested: {
    priority: 1,
    variables: ['lesson'],
    uncapped: true,
    site: 'classroom',
    path: '/assignments/submissions/{id}',
  },
  media_expiring: {
    priority: 1,
    uncapped: true,
    site: 'dashboard',
    path: '/media?types=video',
  },
  mentorship_booked: {
    ...ofStudent,
  },
  mentorship_canceled: {
    ...ofStudent,
    withReason: true,
  },
  mentorship_day_before: {
    ...ofStudent,
  },
  mentorship_hour_before: {
    ...ofStudent,
    priority: 0,
  },
  mentorship_rating: {
    ...ofStudent,
  },
  mentorship_mentor_booked: {
    ...ofMentor,
  },
  mentorship_mentor_canceled: {
    ...ofMentor,
    withReason: true,
  },
  mentorship_mentor_replaced: {
    ...ofMentor,
  },
} as const satisfies Record<MailTemplate, Template>;
