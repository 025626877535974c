/** The time until the mail with a student's sign-in code arrives at a mailbox on this machine. */
import type { AddressInfo } from 'node:net';
import { mailboxSmtp } from '../dev/mailbox/smtp.ts';
import { host } from '../dev/stack/ports.ts';
import { requestMail } from '../domain/mail/transactional/requests.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import type { Database } from '../platform/infra/postgres/database.ts';
import type { Vault } from '../platform/infra/keys/vault.ts';
import { waitUntil } from './support.ts';
import { steadily, times } from './webhooks/pace.ts';

export interface Mailbox {
  smtpUrl: string;
  /** The time for each recipient, in `performance.now()`. */
  arrivals: ReadonlyMap<string, number>;
}

/** Starts a mailbox that accepts everything. */
export async function onMailbox(measure: (mailbox: Mailbox) => Promise<void>): Promise<void> {
  const arrivals = new Map<string, number>();
  const { server, stop } = mailboxSmtp(async ({ to }) => {
    for (const address of to) arrivals.set(address, performance.now());
  });
  await new Promise<void>((resolve) => server.listen(0, host, () => resolve()));
  try {
    await measure({ smtpUrl: `smtp://${host}:${(server.server.address() as AddressInfo).port}`, arrivals });
  } finally {
    await stop();
  }
}

const codes = 40;
const everyMs = 300;
/** A missing code counts with this time, so that it makes the figure worse. */
const limitMs = 30_000;

interface Asked {
  db: Database;
  vault: Vault;
  clubId: Id;
  arrivals: Mailbox['arrivals'];
}

/** @returns milliseconds from each request to the arrival of its mail */
export async function askForCodes({ db, vault, clubId, arrivals }: Asked): Promise<number[]> {
  const requestTimes = new Map<string, number>();
  await steadily(
    everyMs,
    async () => {
      const studentId = newId();
      const email = `${studentId}@example.com`;
      const now = new Date();
      await db.transaction(async (tx) => {
        // No campaign includes this student, who is not confirmed.
        await tx.manager.query(
          `INSERT INTO students (id, club_id, name, email, opened_by, created_at) VALUES ($1, $2, 'Student', $3, 'sign_up', $4)`,
          [studentId, clubId, email, now],
        );
        await requestMail(tx, vault, { template: 'student_code', clubId, recipient: { studentId }, email }, now);
      });
      requestTimes.set(email, performance.now());
    },
    times(codes),
  );
  const limit = performance.now() + limitMs;
  const isDone = () => [...requestTimes.keys()].every((email) => arrivals.has(email)) || performance.now() > limit;
  await waitUntil('the codes arrive', isDone, { timeoutMs: 2 * limitMs });
  return [...requestTimes].map(([email, at]) => Math.min(limitMs, (arrivals.get(email) ?? Infinity) - at));
}
