/**
 * The servers for the tests: Temporal, Postgres and S3 on free ports. They serve the whole test run. Each test file has its own database.
 * Each process of the run has its own namespace and mailbox. All of these are created at first use.
 */
import path from 'node:path';
import { authorityIn, type Authority } from '../../../dev/stack/certificates.ts';
import { startMailbox, type Mailbox } from '../../../dev/mailbox/mailbox.ts';
import { atEndOfFile } from '../../run/lifecycle.ts';
import type { Share } from '../../run/server.ts';

interface TestStack {
  /** All settings that config.ts reads. `process.env` contains the same settings. */
  readonly environment: Readonly<Record<string, string>>;
  /** Issues certificates that API and worker trust. */
  readonly authority: Authority;
  readonly mailbox: Mailbox;
}

let sharing: Promise<TestStack> | undefined;
let mailbox: Promise<Mailbox> | undefined;

/**
 * Returns the stack with the database of the current test file. It also puts this database into `process.env`, for `readConfig()` and for
 * child processes.
 * @throws Error in a run of unit tests, because such a run has no stack
 */
export function testStack(): Promise<TestStack> {
  sharing ??= share();
  return sharing;
}

/** The path of the workflow bundle of the test run. The bundle is created at first use. */
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

/** Sends a request to the server of the test run (test/run/server.ts). */
async function ask<T>(what: string): Promise<T> {
  const base = process.env['TEST_RUN_URL'];
  if (!base)
    throw new Error('This run of unit tests has no stack. A test that needs it is not a unit test (test/README.md).');
  const response = await fetch(base + what);
  const body: unknown = await response.json();
  if (!response.ok) throw new Error(String(body));
  return body as T;
}
