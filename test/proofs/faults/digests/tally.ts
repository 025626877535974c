/** Who got a daily mail, by rows and by the mail server's log. */
import type { Id } from '../../../../platform/core/ids.ts';
import { countedBy, holdMails, moreThanOnce, type MailRow, type MailsHeld, type Received } from '../mail/received.ts';

export interface DigestMailRow extends MailRow {
  studentId: Id;
}

export interface DigestTally {
  mails: MailsHeld<DigestMailRow>;
  /** Students who have more than one row, or whose address received more than one message. */
  twice: number;
  /** A line for each member who has no mail, or whose mail was skipped, and who had not left the daily mail. */
  missing: string[];
}

/** @param left members who left the daily mail meanwhile: some before they got it */
export function tallyDigests(
  members: readonly Id[],
  left: ReadonlySet<Id>,
  rows: readonly DigestMailRow[],
  received: readonly Received[],
): DigestTally {
  const mails = holdMails(rows, received);
  const byStudent = Map.groupBy(rows, ({ studentId }) => studentId);
  const isMissing = (id: Id) => {
    const own = byStudent.get(id) ?? [];
    return !left.has(id) && own.every(({ status }) => status === 'skipped');
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
