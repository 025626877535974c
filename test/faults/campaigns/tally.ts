/** What the rows say, held against what the mail server received. */
import { existsSync, readFileSync } from 'node:fs';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { outcomeUnknown } from '../../../domain/mail/recipients.policy.ts';

export interface MailTally {
  recipients: number;
  mailedOnce: number;
  skipped: number;
  refused: number;
  unknown: number;
  /** Of the unknown ones, those that arrived. */
  unknownArrived: number;
  mailedTwice: number;
  /** A line for each row that says what is not so, or nothing final. */
  untrue: string[];
}

interface Row {
  id: Id;
  status: string;
  reason: string | null;
  error: string | null;
  attempts: number;
}

interface Received {
  to: string;
  mailId: string;
}

export const receivedIn = (log: string): Received[] =>
  existsSync(log)
    ? readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.endsWith('}')) // the last one may be cut off by a kill
        .map((line) => JSON.parse(line) as Received)
    : [];

export async function tallyMails(source: DataSource, campaignId: Id, log: string): Promise<MailTally> {
  const rows = await source.query<Row[]>(
    `SELECT id, status, skip_reason AS reason, last_error AS error, attempt_count AS attempts FROM mails WHERE campaign_id = $1`,
    [campaignId],
  );
  const received = receivedIn(log);
  const copies = countedBy(received, ({ mailId }) => mailId);
  const ids = new Set(rows.map(({ id }) => id));
  const isUnknown = ({ status, error }: Row) => status === 'failed' && error === outcomeUnknown;
  const of = (row: Row) => copies.get(row.id) ?? 0;
  const isUntrue = (row: Row) =>
    row.status === 'sent' ? of(row) !== 1 : isUnknown(row) ? of(row) > 1 : !isFinal(row) || of(row) > 0;
  const twice = (counts: ReadonlyMap<string, number>) => [...counts.values()].filter((count) => count > 1).length;
  return {
    recipients: rows.length,
    mailedOnce: rows.filter((row) => row.status === 'sent').length,
    skipped: rows.filter(({ status }) => status === 'skipped').length,
    refused: rows.filter((row) => row.status === 'failed' && !isUnknown(row)).length,
    unknown: rows.filter(isUnknown).length,
    unknownArrived: rows.filter((row) => isUnknown(row) && of(row) > 0).length,
    mailedTwice: Math.max(twice(copies), twice(countedBy(received, ({ to }) => to))),
    untrue: [
      ...rows.filter(isUntrue).map((row) => `${JSON.stringify(row)} arrived ${of(row)} times`),
      ...received.filter(({ mailId }) => !ids.has(mailId)).map(({ mailId }) => `${mailId} arrived and has no row`),
    ],
  };
}

const isFinal = ({ status }: Row) => status === 'skipped' || status === 'failed';

function countedBy<T>(values: readonly T[], key: (value: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(key(value), (counts.get(key(value)) ?? 0) + 1);
  return counts;
}
