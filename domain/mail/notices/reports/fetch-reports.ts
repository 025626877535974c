/**
 * Fetches reports from a mailbox (BNC-7). A message is deleted after its event is recorded, and the progress is recorded after the
 * deletion. So a worker that dies in between reads the message again, which changes nothing. Every other message stays, unread.
 */
import { createHash } from 'node:crypto';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { withMailbox, type Mailbox, type MailboxAddress } from '../../../../platform/infra/imap/mailbox.ts';
import { recordEvents } from '../record-events.ts';
import { mostReportBytes, readReport } from './read-report.ts';

export interface FetchingDeps {
  db: Database;
  /** Undefined if the operator has configured no mailbox. */
  mailbox: MailboxAddress | undefined;
  /** Tests kill the process at these points: `report_recorded`, `report_deleted`. */
  failpoint: (name: string) => Promise<void>;
  /** Receives the outcome of each message. */
  onMessage: (outcome: 'recorded' | 'left') => void;
}

export interface FetchedReports {
  recorded: number;
  /** Messages that stay in the mailbox. */
  left: number;
  more: boolean;
}

/** A step reads at most this many messages in at most this time. After `tries` fetches that failed at one message, it is skipped. */
export const fetchingRules = {
  messages: 200,
  stepMs: 60_000,
  leaseSeconds: 120,
  progressEvery: 20,
  tries: 10,
} as const;

const nothing: FetchedReports = { recorded: 0, left: 0, more: false };

/**
 * Reads the next messages of the mailbox. Does nothing while another worker holds the lease.
 * @throws MailboxUnreachable
 */
export async function fetchReports(deps: FetchingDeps, now: Date): Promise<FetchedReports> {
  const { db, mailbox: address } = deps;
  if (address === undefined) return nothing;
  const key = keyOf(address);
  const lease = await db.one<Lease>(sql`INSERT INTO report_mailboxes AS mailbox (key, fence, lease_until)
      VALUES (${key}, 1, clock_timestamp() + make_interval(secs => ${fetchingRules.leaseSeconds}))
    ON CONFLICT (key) DO UPDATE SET fence = mailbox.fence + 1, lease_until = excluded.lease_until
      WHERE mailbox.lease_until IS NULL OR mailbox.lease_until < clock_timestamp()
    RETURNING fence, validity, seen_uid AS "seenUid", failed_uid AS "failedUid", failures`);
  if (!lease) return nothing;
  try {
    const signal = AbortSignal.timeout(fetchingRules.stepMs + 30_000); // ends before the lease
    return await withMailbox(address, signal, (mailbox) => readMessages(deps, mailbox, { ...lease, key }, now));
  } finally {
    await db.run(sql`UPDATE report_mailboxes SET lease_until = NULL WHERE key = ${key} AND fence = ${lease.fence}`);
  }
}

interface Lease {
  fence: number;
  validity: string;
  seenUid: string;
  failedUid: string;
  failures: number;
}

/** The password may change without a loss of the progress. */
function keyOf({ url: secretUrl }: MailboxAddress): Buffer {
  const { host, username, pathname } = new URL(secretUrl.reveal());
  return createHash('sha256').update(`${username}@${host}${pathname}`).digest();
}

async function readMessages(
  deps: FetchingDeps,
  mailbox: Mailbox,
  { key, fence, validity, seenUid, failedUid, failures }: Lease & { key: Buffer },
  now: Date,
): Promise<FetchedReports> {
  const endsAt = performance.now() + fetchingRules.stepMs;
  const isSameNumbering = mailbox.validity === validity;
  const uids = await mailbox.uidsAbove(isSameNumbering ? Number(seenUid) : 0, fetchingRules.messages);
  const keepProgress = (uid: number) =>
    deps.db.run(sql`UPDATE report_mailboxes SET validity = ${mailbox.validity}, seen_uid = ${uid}
      WHERE key = ${key} AND fence = ${fence}`);
  const isSkipped = (uid: number) => isSameNumbering && uid === Number(failedUid) && failures >= fetchingRules.tries;
  const noteFailure = (uid: number) =>
    deps.db.run(sql`UPDATE report_mailboxes
         SET failures = CASE WHEN failed_uid = ${uid} AND validity = ${mailbox.validity} THEN failures + 1 ELSE 1 END,
             failed_uid = ${uid}, validity = ${mailbox.validity}, seen_uid = ${uid - 1}
       WHERE key = ${key} AND fence = ${fence}`);
  const counts = { recorded: 0, left: 0 };
  let lastUid: number | undefined;
  for (const [index, uid] of uids.entries()) {
    if (performance.now() > endsAt) break;
    // A server may hang up at one message each time. Without the count, no later message would be read.
    const outcome = isSkipped(uid)
      ? 'left'
      : await readMessage(deps, mailbox, uid, now).catch(async (error: unknown) => {
          await noteFailure(uid);
          throw error;
        });
    counts[outcome] += 1;
    deps.onMessage(outcome);
    lastUid = uid;
    if ((index + 1) % fetchingRules.progressEvery === 0) await keepProgress(uid);
  }
  if (lastUid !== undefined) await keepProgress(lastUid);
  return { ...counts, more: lastUid !== uids.at(-1) || uids.length === fetchingRules.messages };
}

/** @returns `left` for a message that is no report, and for a report that names no mail of this service */
async function readMessage(
  { db, failpoint }: FetchingDeps,
  mailbox: Mailbox,
  uid: number,
  now: Date,
): Promise<'recorded' | 'left'> {
  const bytes = await mailbox.read(uid, mostReportBytes);
  const { events = [] } = bytes === undefined ? {} : await readReport(bytes);
  const { matched } = await recordEvents(db, events, now);
  if (matched === 0) return 'left';
  await failpoint('report_recorded');
  await mailbox.delete(uid);
  await failpoint('report_deleted');
  return 'recorded';
}
