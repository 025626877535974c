/** Counts the daily mails of each member by rows and by the log of the mail server. */
import type { Id } from '../../../../platform/core/ids.ts';
import {
  countedBy,
  checkMails,
  moreThanOnce,
  type MailRow,
  type CheckedMails,
  type Received,
} from '../mail/received.ts';

export interface DigestMailRow extends MailRow {
  studentId: Id;
}

export interface DigestTally {
  mails: CheckedMails<DigestMailRow>;
  twice: number;
  /** A line for each member without a mail or with a skipped mail, unless the member unsubscribed. */
  missing: string[];
}

export function tallyDigests(
  members: readonly Id[],
  unsubscribed: ReadonlySet<Id>,
  rows: readonly DigestMailRow[],
  received: readonly Received[],
): DigestTally {
  const mails = checkMails(rows, received);
  const byStudent = Map.groupBy(rows, ({ studentId }) => studentId);
  const isMissing = (id: Id) => {
    const own = byStudent.get(id) ?? [];
    return !unsubscribed.has(id) && own.every(({ status }) => status === 'skipped');
  };
  return {
    mails,
    twice: Math.max(
      [...byStudent.values()].filter((own) => own.length > 1).length,
      moreThanOnce(countedBy(received, ({ to }) => to)),
      mails.mailedTwice,
    ),
    missing: members.filter(isMissing).map(
      (id) =>
        `${id}: ${
          byStudent
            .get(id)
            ?.map(({ reason }) => reason)
            .join() ?? 'no mail'
        }`,
    ),
  };
}
