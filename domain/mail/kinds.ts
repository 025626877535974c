/** The answers of contexts about the mails that they ask for: which rows a mail is about, and whether it may still be sent. */
import type { MailTemplate } from '../../entities/mail/values.ts';
import type { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import type { CalendarEvent } from '../../platform/core/calendar.policy.ts';
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
>;

/** The values of a mail from the rows that it is about. The mail leaves out words that must not stand in a mail (DEC-64). */
export interface MailSubject {
  /** The id of the row that the template's path names with `{id}`. */
  id?: Id;
  endpointUrl?: string;
  lessonTitle?: string;
  session?: {
    title: string;
    startsAt: Date;
    /** IANA name of the zone by whose clock the mail shows the beginning. */
    timeZone: string;
    /** The person whom the reader meets; null for a removed student. */
    withWhom: string | null;
    /** Why it was canceled; null without a reason. */
    reason: string | null;
  };
  /** The entry for the reader's calendar. The mail gives an entry without a usable summary a standard one. */
  calendar?: Omit<CalendarEvent, 'stamp'>;
}

/**
 * Reads the rows that a mail is about, with one statement. It runs when the mail is claimed, so nothing is sent about a row that has
 * changed since the request.
 * @returns undefined if the mail must not be sent any more
 */
export type MailKind = (db: Queries, mail: MailRow, now: Date) => Promise<MailSubject | undefined>;

/** The kinds of mail that a context asks for. */
export type MailKinds = Readonly<Partial<Record<MailTemplate, MailKind>>>;

/** A mail about its recipient, its token and its club alone. It reads nothing more, and is sent while the recipient has an address. */
export const aboutRecipient: MailKind = async () => ({});
