/**
 * The real stack that tests run against: Temporal, Postgres and S3 on free ports, one for the whole run. A file has a
 * database of its own in it, a process of the run a namespace and a mailbox. Each is there from when a test first asks.
 */
import path from 'node:path';
import { authorityIn, type Authority } from '../../../dev/certificates.ts';
import { startMailbox, type Mailbox } from '../../../dev/mailbox.ts';
import { atEndOfFile } from '../../run/lifecycle.ts';
import type { Share } from '../../run/server.ts';

interface TestStack {
  /** All that config.ts needs; `process.env` has it too. */
  readonly environment: Readonly<Record<string, string>>;
  /** Issues certificates that API and worker trust. */
  readonly authority: Authority;
  readonly mailbox: Mailbox;
}

let sharing: Promise<TestStack> | undefined;
let mailbox: Promise<Mailbox> | undefined;

/**
 * The stack, with the database of the file that runs now. `process.env` names it from then on, for `readConfig()` and
 * for child processes.
 * @throws Error in a run of unit tests, which has no stack
 */
export function testStack(): Promise<TestStack> {
  sharing ??= share();
  return sharing;
}

/** Where the run's bundle of the workflows lies; made when it is first asked for. */
export async function workflowBundleFile(): Promise<string> {
  return ask<string>('/bundle');
}

async function share(): Promise<TestStack> {
  atEndOfFile(() => {
    sharing = undefined;
  });
  const { environment, directory } = await ask<Share>(`/share?job=${process.env['MOCHA_WORKER_ID'] ?? 0}`);
  mailbox ??= startMailbox({ directory: path.join(directory, 'mailboxes', String(process.pid)) });
  const { smtpUrl, httpUrl } = await mailbox;
  const own = { ...environment, SMTP_URL: smtpUrl, MAILBOX_URL: httpUrl };
  Object.assign(process.env, own);
  const { authority } = await authorityIn(path.join(directory, 'certificates'));
  return { environment: own, authority, mailbox: await mailbox };
}

/** Asks the server of the run (test/run/server.ts). */
async function ask<T>(what: string): Promise<T> {
  const base = process.env['TEST_RUN_URL'];
  if (!base) throw new Error('This run has no stack: a test that needs one is no unit test (test/README.md).');
  const response = await fetch(base + what);
  const body: unknown = await response.json();
  if (!response.ok) throw new Error(String(body));
  return body as T;
}
