/** The rules of transactional mails: one template a reason to write. The catalogues have their words (domain/language). */
import type { Priority } from '../../entities/facts/values.ts';
import type { MailTemplate } from '../../entities/mail/values.ts';
import type { CalendarEvent } from '../../platform/core/calendar.policy.ts';
import type { TokenPurpose } from '../../entities/identity/values.ts';

export interface Template {
  /** The token that the mail carries, if it carries one. */
  purpose?: TokenPurpose;
  /** How urgent it is: for most somebody sits and waits. */
  priority: Priority;
  /** Tells of a webhook endpoint: sent only while there is one. */
  aboutEndpoint?: true;
  /** Tells of a review of an assignment: sent only while there is one. */
  aboutReview?: true;
  /**
   * Tells of a session of a mentorship: sent only while the session has this state, at the time that the request names. `moved away` is
   * sent to who is not its mentor any more, until the former end.
   */
  aboutSession?: 'to come' | 'canceled' | 'ended' | 'moved away';
  /** Carries the session as an entry for calendars. */
  calendar?: CalendarEvent['method'];
  /** Goes to the mentor: sent only while they are a member of the club. */
  toMentor?: true;
  /** The club sends it on its own account, to whom may know nothing of it: so many of a day (DEC-65). */
  paced?: true;
  /** Goes to an address that the student had before, which the request names. */
  toFormerAddress?: true;
  /** Nobody can cause it at will (a review needs work that the student has sent, bookings are limited by LIM-10), so an address gets as many as there are. */
  uncapped?: true;
  /** Path on the classroom's or the dashboard's address; `{token}` becomes the token, `{endpoint}` the endpoint's id, `{submission}` the submission's, `{session}` the session's. */
  path: string;
  /** Whose pages it leads to. */
  site: 'classroom' | 'dashboard';
  /** Carries a code to type instead of a link. */
  withCode?: true;
}

const ofStudent = { priority: 1, uncapped: true, site: 'classroom', path: '/mentorships/sessions/{session}' } as const;
const ofMentor = {
  priority: 1,
  uncapped: true,
  toMentor: true,
  site: 'dashboard',
  path: '/mentorship-sessions/{session}',
} as const;

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
    aboutEndpoint: true,
    uncapped: true,
    site: 'dashboard',
    path: '/webhooks/{endpoint}',
  },
  webhook_endpoint_gone: {
    priority: 1,
    aboutEndpoint: true,
    uncapped: true,
    site: 'dashboard',
    path: '/webhooks/{endpoint}',
  },
  webhook_endpoint_throttled: {
    priority: 1,
    aboutEndpoint: true,
    uncapped: true,
    site: 'dashboard',
    path: '/webhooks/{endpoint}',
  },
  assignment_approved: {
    priority: 1,
    aboutReview: true,
    uncapped: true,
    site: 'classroom',
    path: '/assignments/submissions/{submission}',
  },
  assignment_changes_requested: {
    priority: 1,
    aboutReview: true,
    uncapped: true,
    site: 'classroom',
    path: '/assignments/submissions/{submission}',
  },
  media_expiring: {
    priority: 1,
    uncapped: true,
    site: 'dashboard',
    path: '/media?types=video',
  },
  mentorship_booked: {
    ...ofStudent,
    aboutSession: 'to come',
    calendar: 'REQUEST',
  },
  mentorship_canceled: {
    ...ofStudent,
    aboutSession: 'canceled',
    calendar: 'CANCEL',
  },
  mentorship_day_before: {
    ...ofStudent,
    aboutSession: 'to come',
  },
  mentorship_hour_before: {
    ...ofStudent,
    priority: 0,
    aboutSession: 'to come',
  },
  mentorship_rating: {
    ...ofStudent,
    aboutSession: 'ended',
  },
  mentorship_mentor_booked: {
    ...ofMentor,
    aboutSession: 'to come',
    calendar: 'REQUEST',
  },
  mentorship_mentor_canceled: {
    ...ofMentor,
    aboutSession: 'canceled',
    calendar: 'CANCEL',
  },
  mentorship_mentor_replaced: {
    ...ofMentor,
    aboutSession: 'moved away',
    calendar: 'CANCEL',
  },
} as const satisfies Record<MailTemplate, Template>;
