/**
 * The rules of transactional mails: one template for each reason to write. The catalogues have their words (domain/language), and the
 * contexts read what they are about ({@link file://./kinds.ts}).
 */
import type { Priority } from '../../../entities/facts/values.ts';
import type { MailTemplate } from '../../../entities/mail/values.ts';
import type { TokenPurpose } from '../../../entities/mail/values.ts';

/** The variables of a text. A mail without its `link` or its `code` would be useless, so a text must name them. */
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
  /** The token that the mail carries, if it carries one. */
  purpose?: TokenPurpose;
  /** How urgent it is: for most somebody sits and waits. */
  priority: Priority;
  /** The variables of its text beside its link or code, the name and the club. */
  variables?: readonly MailVariable[];
  /** Its standard text ends with the reason, if there is one. */
  withReason?: true;
  /** The club sends it on its own account, to whom may know nothing of it: so many of a day (DEC-65). */
  paced?: true;
  /** Goes to an address that the student had before, which the request names. */
  toFormerAddress?: true;
  /** Nobody can cause it at will (a review needs work that the student has sent, bookings are limited by LIM-10), so an address gets as many as there are. */
  uncapped?: true;
  /** Path on the classroom's or the dashboard's address. `{token}` becomes the token, `{id}` the id of the row that the mail is about. */
  path: string;
  /** Whose pages it leads to. */
  site: 'classroom' | 'dashboard';
  /** Carries a code to type instead of a link. */
  withCode?: true;
}

const ofSession = { priority: 1, uncapped: true, variables: ['session', 'person', 'at', 'reason'] } as const;
const ofStudent = { ...ofSession, site: 'classroom', path: '/mentorships/sessions/{id}' } as const;
const ofMentor = { ...ofSession, site: 'dashboard', path: '/mentorship-sessions/{id}' } as const;

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
  administrator_invitation: {
    priority: 1,
    paced: true,
    purpose: 'administrator_invitation',
    site: 'dashboard',
    path: '/invitations/accept?token={token}',
  },
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
