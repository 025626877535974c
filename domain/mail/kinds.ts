/** The kinds of mail. Each context defines for its own kinds which rows a mail is about, and whether the mail may still be sent. */
import type { MailTemplate } from '../../entities/mail/values.ts';
import type { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import type { CalendarEvent } from '../../platform/core/time/calendar.policy.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';

/** The columns of a claimed mail that name its recipient and the rows that it is about. */
export type MailRow = Pick<
  TransactionalMail,
  | 'clubId'
  | 'studentId'
  | 'administratorId'
  | 'endpointId'
  | 'reviewId'
  | 'sessionId'
  | 'sessionSequence'
  | 'formerStartsAt'
  | 'formerEndsAt'
  | 'device'
  | 'network'
  | 'createdAt'
>;

/**
 * The values that a mail's template shows. They come from the rows that the mail is about. Words that a mail must not contain are left out
 * (DEC-64).
 */
export interface MailSubject {
  /** Replaces `{id}` in the path of the template's link. */
  id?: Id;
  endpointUrl?: string;
  lessonTitle?: string;
  session?: {
    title: string;
    startsAt: Date;
    /** The IANA name of the time zone in which the mail shows the start. */
    timeZone: string;
    /** Null if this person is a removed student. */
    withWhom: string | null;
    reason: string | null;
  };
  /** The sign-in that the mail is about. */
  signIn?: {
    device: string | null;
    network: string | null;
    at: Date;
    timeZone: string;
  };
  /** The planned erasure of the club. */
  erasure?: {
    at: Date;
    timeZone: string;
  };
  /** The entry in the reader's calendar. If its summary is not usable, a standard summary replaces it. */
  calendar?: Omit<CalendarEvent, 'stamp'>;
}

/**
 * Reads the rows that a mail is about, with one statement. The statement runs when a worker claims the mail, so the mail always describes
 * the current rows.
 * @returns undefined if the mail must not be sent any more
 */
export type MailKind = (db: Queries, mail: MailRow, now: Date) => Promise<MailSubject | undefined>;

/** The kinds of mail that one context sends. */
export type MailKinds = Readonly<Partial<Record<MailTemplate, MailKind>>>;

/** A mail that is only about its recipient, its token and its club. It is sent as long as the recipient has an address. */
export const aboutRecipient: MailKind = async () => ({});
