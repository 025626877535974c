/** What the world received, held against what rows say became of each mail. */
import { existsSync, readFileSync } from 'node:fs';
import { outcomeUnknown } from '../../../../domain/mail/sending/recipients.policy.ts';
import type { Id } from '../../../../platform/core/ids.ts';

export interface Received {
  to: string;
  mailId: string;
  /** When the server took it over, in Unix milliseconds. */
  at: number;
}

/** @returns a line of the mail server's log each */
export const receivedIn = (log: string): Received[] =>
  existsSync(log)
    ? readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.endsWith('}')) // the last one may be cut off by a kill
        .map((line) => JSON.parse(line) as Received)
    : [];

/** What a row says. */
export interface MailRow {
  id: Id;
  status: string;
  reason: string | null;
  error: string | null;
  attempts: number;
}

/** Selects the columns of a `MailRow`. */
export const mailColumns = `id, status, skip_reason AS reason, last_error AS error, attempt_count AS attempts`;

export interface MailsHeld<Row extends MailRow> {
  sent: Row[];
  skipped: Row[];
  refused: Row[];
  /** Marked so. */
  unknown: Row[];
  /** Of the unknown ones, those that arrived. */
  unknownArrived: number;
  /** Mails, by their own id, that arrived more than once. */
  mailedTwice: number;
  /** A line for each row that says what is not so, or nothing final; and for each arrival without a row. */
  untrue: string[];
}

export function holdMails<Row extends MailRow>(rows: readonly Row[], received: readonly Received[]): MailsHeld<Row> {
  const copies = countedBy(received, ({ mailId }) => mailId);
  const ids = new Set(rows.map(({ id }) => id));
  const isUnknown = ({ status, error }: Row) => status === 'failed' && error === outcomeUnknown;
  const of = (row: Row) => copies.get(row.id) ?? 0;
  const isFinal = ({ status }: Row) => status === 'skipped' || status === 'failed';
  const isUntrue = (row: Row) =>
    row.status === 'sent' ? of(row) !== 1 : isUnknown(row) ? of(row) > 1 : !isFinal(row) || of(row) > 0;
  return {
    sent: rows.filter(({ status }) => status === 'sent'),
    skipped: rows.filter(({ status }) => status === 'skipped'),
    refused: rows.filter((row) => row.status === 'failed' && !isUnknown(row)),
    unknown: rows.filter(isUnknown),
    unknownArrived: rows.filter((row) => isUnknown(row) && of(row) > 0).length,
    mailedTwice: moreThanOnce(copies),
    untrue: [
      ...rows.filter(isUntrue).map((row) => `${JSON.stringify(row)} arrived ${of(row)} times`),
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
