/** Compares the messages that the mail server received with the rows of the mails. */
import { existsSync, readFileSync } from 'node:fs';
import { outcomeUnknown } from '../../../../domain/mail/sending/recipients.policy.ts';
import type { Id } from '../../../../platform/core/ids.ts';

export interface Received {
  to: string;
  mailId: string;
  /** The time when the server accepted the message, in Unix milliseconds. */
  at: number;
}

export const receivedIn = (log: string): Received[] =>
  existsSync(log)
    ? readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.endsWith('}')) // a kill can cut the last line
        .map((line) => JSON.parse(line) as Received)
    : [];

export interface MailRow {
  id: Id;
  status: string;
  reason: string | null;
  error: string | null;
  attempts: number;
}

export const mailColumns = `id, status, skip_reason AS reason, last_error AS error, attempt_count AS attempts`;

export interface CheckedMails<Row extends MailRow> {
  sentMails: Row[];
  skippedMails: Row[];
  refusedMails: Row[];
  unknownMails: Row[];
  unknownArrived: number;
  /** Counts each mail id once. */
  mailedTwice: number;
  /** A line for each row that has a wrong status or has not ended, and for each arrived mail without a row. */
  untrue: string[];
}

export function checkMails<Row extends MailRow>(
  rows: readonly Row[],
  received: readonly Received[],
): CheckedMails<Row> {
  const copies = countedBy(received, ({ mailId }) => mailId);
  const ids = new Set(rows.map(({ id }) => id));
  const isUnknown = ({ status, error }: Row) => status === 'failed' && error === outcomeUnknown;
  const arrivalsOf = (row: Row) => copies.get(row.id) ?? 0;
  const isFinal = ({ status }: Row) => status === 'skipped' || status === 'failed';
  const isUntrue = (row: Row) =>
    row.status === 'sent'
      ? arrivalsOf(row) !== 1
      : isUnknown(row)
        ? arrivalsOf(row) > 1
        : !isFinal(row) || arrivalsOf(row) > 0;
  return {
    sentMails: rows.filter(({ status }) => status === 'sent'),
    skippedMails: rows.filter(({ status }) => status === 'skipped'),
    refusedMails: rows.filter((row) => row.status === 'failed' && !isUnknown(row)),
    unknownMails: rows.filter(isUnknown),
    unknownArrived: rows.filter((row) => isUnknown(row) && arrivalsOf(row) > 0).length,
    mailedTwice: moreThanOnce(copies),
    untrue: [
      ...rows.filter(isUntrue).map((row) => `${JSON.stringify(row)} arrived ${arrivalsOf(row)} times`),
      ...received.filter(({ mailId }) => !ids.has(mailId)).map(({ mailId }) => `${mailId} arrived and has no row`),
    ],
  };
}

export const moreThanOnce = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].filter((count) => count > 1).length;

export function countedBy<T>(values: readonly T[], key: (value: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(key(value), (counts.get(key(value)) ?? 0) + 1);
  return counts;
}
