/** The texts of transactional mails: one template a reason to write. */
import type { Priority } from '../../entities/facts/values.ts';
import type { MailTemplate } from '../../entities/mail/values.ts';
import type { CalendarEvent } from '../../platform/core/calendar.policy.ts';
import { escapeHtml } from '../../platform/core/text.policy.ts';
import type { TokenPurpose } from '../../entities/identity/values.ts';

export interface MailContext {
  /** The recipient's name; empty for somebody who has no confirmed account. */
  name: string;
  /** The club that it is about; empty for what is about the person's own account. */
  clubName: string;
  /** The address of the page that the mail leads to, its token included. */
  link: string;
  /** The six digits of a code. */
  code: string;
  /** The address of the webhook endpoint that it is about. */
  endpointUrl: string;
  /** The lesson of the assignment whose review it tells of. */
  lessonTitle: string;
  /** The session of a mentorship that it tells of; every field is empty where it tells of none. */
  session: SessionWords;
}

export interface SessionWords {
  /** The mentorship's title; empty where it must not stand in a mail. */
  title: string;
  /** Its beginning by the clock of the mentorship's zone, which it names. */
  at: string;
  /** The one whom the reader meets; empty where the name must not stand in a mail. */
  withWhom: string;
  /** Why it was canceled; empty where nothing was said. */
  reason: string;
}

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
  subject: (context: MailContext) => string;
  /** The sentences before the link or code, one a paragraph. */
  text: (context: MailContext) => readonly string[];
  /** What the link is called; a mail with a code has none. */
  action?: string;
}

const ignore = 'If this was not you, you can ignore this message: nothing happens without the link.';

const sessionOf = ({ title, withWhom }: SessionWords) =>
  `${title === '' ? 'Your session' : `“${title}”`}${withWhom === '' ? '' : ` with ${withWhom}`}`;
const because = ({ reason }: SessionWords) => (reason === '' ? [] : [reason]);
const ofStudent = { priority: 1, uncapped: true, site: 'classroom', path: '/mentorships/sessions/{session}' } as const;
const ofMentor = {
  priority: 1,
  uncapped: true,
  toMentor: true,
  site: 'dashboard',
  path: '/mentorship-sessions/{session}',
} as const;

const ofLesson = (title: string) => (title === '' ? '' : ` for the lesson “${title}”`);

export const mailTemplates = {
  student_verify_email: {
    priority: 0,
    purpose: 'student_verify_email',
    site: 'classroom',
    path: '/verify-email?token={token}',
    subject: ({ clubName }) => `Confirm your e-mail for ${clubName}`,
    text: ({ clubName }) => [`Welcome to ${clubName}! Please confirm your e-mail address within 24 hours.`, ignore],
    action: 'Confirm my e-mail',
  },
  student_already_registered: {
    priority: 0,
    site: 'classroom',
    path: '/sign-in',
    subject: ({ clubName }) => `You already have an account at ${clubName}`,
    text: ({ clubName }) => [
      `Someone, probably you, signed up at ${clubName} with this e-mail address, which already has an account. Sign in with it, or reset its password if you forgot it.`,
      'If this was not you, you can ignore this message: nothing was changed.',
    ],
    action: 'Sign in',
  },
  student_invitation: {
    priority: 1,
    paced: true,
    purpose: 'student_invitation',
    site: 'classroom',
    path: '/verify-email?token={token}',
    subject: ({ clubName }) => `Your account at ${clubName}`,
    text: ({ clubName }) => [
      `${clubName} opened an account for you. Confirm your e-mail address within 7 days to enter.`,
    ],
    action: 'Enter the classroom',
  },
  student_reset_password: {
    priority: 0,
    purpose: 'student_reset_password',
    site: 'classroom',
    path: '/reset-password?token={token}',
    subject: ({ clubName }) => `Reset your password for ${clubName}`,
    text: () => ['You can choose a new password within the next hour.', ignore],
    action: 'Choose a new password',
  },
  student_code: {
    priority: 0,
    purpose: 'student_code',
    site: 'classroom',
    path: '/sign-in',
    subject: ({ clubName, code }) => `${code} is your sign-in code for ${clubName}`,
    text: ({ code }) => [
      `Your sign-in code is ${code}. It is good for 10 minutes.`,
      'Never give it to anybody: we do not ask for it.',
    ],
  },
  student_address_changed: {
    priority: 1,
    toFormerAddress: true,
    site: 'classroom',
    path: '/',
    subject: ({ clubName }) => `The e-mail address of your account at ${clubName} was changed`,
    text: ({ clubName }) => [
      `An administrator of ${clubName} gave your account another e-mail address. This address opens it no more.`,
      `If you did not ask for this, please write to ${clubName}.`,
    ],
    action: 'Open the classroom',
  },
  administrator_verify_email: {
    priority: 0,
    purpose: 'administrator_verify_email',
    site: 'dashboard',
    path: '/verify-email?token={token}',
    subject: () => 'Confirm your e-mail',
    text: () => ['Welcome! Please confirm your e-mail address within 24 hours.', ignore],
    action: 'Confirm my e-mail',
  },
  administrator_already_registered: {
    priority: 0,
    site: 'dashboard',
    path: '/sign-in',
    subject: () => 'You already have an account',
    text: () => [
      'Someone, probably you, signed up with this e-mail address, which already has an account. Sign in with it: further organizations are opened from the dashboard.',
      'If this was not you, you can ignore this message: nothing was changed.',
    ],
    action: 'Sign in',
  },
  administrator_reset_password: {
    priority: 0,
    purpose: 'administrator_reset_password',
    site: 'dashboard',
    path: '/reset-password?token={token}',
    subject: () => 'Reset your password',
    text: () => ['You can choose a new password within the next hour.', ignore],
    action: 'Choose a new password',
  },
  administrator_invitation: {
    priority: 1,
    paced: true,
    purpose: 'administrator_invitation',
    site: 'dashboard',
    path: '/invitations/accept?token={token}',
    subject: ({ clubName }) => `You are invited to administer ${clubName}`,
    text: ({ clubName }) => [`You are invited to administer ${clubName}. The invitation is good for 7 days.`, ignore],
    action: 'Accept the invitation',
  },
  webhook_endpoint_failing: {
    priority: 1,
    aboutEndpoint: true,
    uncapped: true,
    site: 'dashboard',
    path: '/webhooks/{endpoint}',
    subject: ({ clubName }) => `A webhook endpoint of ${clubName} was disabled`,
    text: ({ clubName, endpointUrl }) => [
      `${endpointUrl} has accepted no message of ${clubName} for five days. It was disabled, and what was waiting for it was canceled.`,
      'Once it works again, enable it: new events are sent from then on, and deliveries of the last 30 days can be recovered.',
    ],
    action: 'Look at the endpoint',
  },
  webhook_endpoint_gone: {
    priority: 1,
    aboutEndpoint: true,
    uncapped: true,
    site: 'dashboard',
    path: '/webhooks/{endpoint}',
    subject: ({ clubName }) => `A webhook endpoint of ${clubName} was disabled`,
    text: ({ clubName, endpointUrl }) => [
      `${endpointUrl} answered a message of ${clubName} with "410 Gone". It was disabled, and the waiting messages were canceled.`,
      'If the address is still in use, enable the endpoint: new events are then sent, and deliveries of the last 30 days can be recovered.',
    ],
    action: 'Look at the endpoint',
  },
  webhook_endpoint_throttled: {
    priority: 1,
    aboutEndpoint: true,
    uncapped: true,
    site: 'dashboard',
    path: '/webhooks/{endpoint}',
    subject: ({ clubName }) => `A webhook endpoint of ${clubName} has been failing for an hour`,
    text: ({ clubName, endpointUrl }) => [
      `${endpointUrl} has accepted no message of ${clubName} for an hour. One message at a time is tried, and the others wait.`,
      'The messages go out once it accepts one. If it accepts none for five days, it is disabled.',
    ],
    action: 'Look at the endpoint',
  },
  assignment_approved: {
    priority: 1,
    aboutReview: true,
    uncapped: true,
    site: 'classroom',
    path: '/assignments/submissions/{submission}',
    subject: ({ clubName }) => `Your work at ${clubName} was approved`,
    text: ({ clubName, lessonTitle }) => [`${clubName} approved the work that you handed in${ofLesson(lessonTitle)}.`],
    action: 'Read the review',
  },
  assignment_changes_requested: {
    priority: 1,
    aboutReview: true,
    uncapped: true,
    site: 'classroom',
    path: '/assignments/submissions/{submission}',
    subject: ({ clubName }) => `${clubName} asks for changes to your work`,
    text: ({ clubName, lessonTitle }) => [
      `${clubName} looked at the work that you handed in${ofLesson(lessonTitle)}, and asks for changes. Read what to change, and send it again.`,
    ],
    action: 'Read the review',
  },
  media_expiring: {
    priority: 1,
    uncapped: true,
    site: 'dashboard',
    path: '/media?types=video',
    subject: ({ clubName }) => `Videos of ${clubName} are deleted in 7 days`,
    text: ({ clubName }) => [
      `The plan of ${clubName} does not include video hosting. Videos of its library are deleted in 7 days; the library shows the date of each.`,
      'Download what you want to keep. With a plan that includes video hosting, all of them stay.',
    ],
    action: 'Look at the videos',
  },
  mentorship_booked: {
    ...ofStudent,
    aboutSession: 'to come',
    calendar: 'REQUEST',
    subject: ({ clubName, session }) => `Your session at ${clubName}: ${session.at}`,
    text: ({ session }) => [
      `${sessionOf(session)} begins on ${session.at}.`,
      'The entry for your calendar is attached. The page of the session says where you meet, and there you can move or cancel it.',
    ],
    action: 'Look at the session',
  },
  mentorship_canceled: {
    ...ofStudent,
    aboutSession: 'canceled',
    calendar: 'CANCEL',
    subject: ({ clubName, session }) => `Canceled at ${clubName}: your session on ${session.at}`,
    text: ({ session }) => [`${sessionOf(session)} on ${session.at} is canceled.`, ...because(session)],
    action: 'Look at the session',
  },
  mentorship_day_before: {
    ...ofStudent,
    aboutSession: 'to come',
    subject: ({ clubName, session }) => `In a day at ${clubName}: your session on ${session.at}`,
    text: ({ session }) => [
      `${sessionOf(session)} begins on ${session.at}.`,
      'If you cannot come, please move or cancel it on its page.',
    ],
    action: 'Look at the session',
  },
  mentorship_hour_before: {
    ...ofStudent,
    priority: 0,
    aboutSession: 'to come',
    subject: ({ clubName, session }) => `Soon at ${clubName}: your session on ${session.at}`,
    text: ({ session }) => [`${sessionOf(session)} begins on ${session.at}. Its page says where you meet.`],
    action: 'Look at the session',
  },
  mentorship_rating: {
    ...ofStudent,
    aboutSession: 'ended',
    subject: ({ clubName }) => `How was your session at ${clubName}?`,
    text: ({ session }) => [
      `${sessionOf(session)} was on ${session.at}. Please say how it was: one to five, with some words if you like.`,
      'You can do so for 30 days.',
    ],
    action: 'Rate the session',
  },
  mentorship_mentor_booked: {
    ...ofMentor,
    aboutSession: 'to come',
    calendar: 'REQUEST',
    subject: ({ clubName, session }) => `A session at ${clubName} was booked: ${session.at}`,
    text: ({ session }) => [`${sessionOf(session)} begins on ${session.at}. The entry for your calendar is attached.`],
    action: 'Look at the session',
  },
  mentorship_mentor_canceled: {
    ...ofMentor,
    aboutSession: 'canceled',
    calendar: 'CANCEL',
    subject: ({ clubName, session }) => `A session at ${clubName} was canceled: ${session.at}`,
    text: ({ session }) => [`${sessionOf(session)} on ${session.at} is canceled.`, ...because(session)],
    action: 'Look at the session',
  },
  mentorship_mentor_replaced: {
    ...ofMentor,
    aboutSession: 'moved away',
    calendar: 'CANCEL',
    subject: ({ clubName, session }) => `A session at ${clubName} is not yours any more: ${session.at}`,
    text: ({ session }) => [
      `${sessionOf(session)} on ${session.at} was moved, and another mentor holds it now. You are free at that time.`,
    ],
    action: 'Look at the session',
  },
} as const satisfies Record<MailTemplate, Template>;

export interface RenderedMail {
  subject: string;
  text: string;
  html: string;
}

/** @returns the mail as plain text and as HTML; every value is escaped in the HTML, and no line break enters the subject */
export function renderMail(template: MailTemplate, context: MailContext): RenderedMail {
  const { subject, text, action }: Template = mailTemplates[template];
  const greeting = context.name === '' ? 'Hello,' : `Hello ${context.name},`;
  const paragraphs = [greeting, ...text(context)];
  const button = `<p><a href="${escapeHtml(context.link)}" style="display:inline-block;padding:12px 20px;border-radius:6px;background:#1f4fd8;color:#fff;text-decoration:none">${escapeHtml(action ?? '')}</a></p>`;
  return {
    subject: subject(context).replace(/[\r\n]+/g, ' '),
    text: [...paragraphs, ...(action ? [`${action}: ${context.link}`] : [])].join('\n\n').concat('\n'),
    html: `<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width"></head><body style="font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:24px auto;padding:0 16px;overflow-wrap:anywhere">${paragraphs
      .map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`)
      .join('')}${action ? button : ''}</body></html>`,
  };
}
