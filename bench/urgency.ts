/**
 * `npm run bench -- urgency`: how long a sign-in code's mail and the wake of an answer take while 50,000 invitations of the same
 * club are queued, beside without (ENG-15).
 */
import { mailboxSmtp } from '../dev/mailbox/smtp.ts';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../config.ts';
import { host } from '../dev/ports.ts';
import { requestMail } from '../domain/mail/requests.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../entities/migrate.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { wake } from '../platform/engine/wakes.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { createNotifier } from '../platform/infra/postgres/notifications.ts';
import { createVault, type Vault } from '../platform/infra/vault.ts';
import { onFreshStack, progress, quantile, report, waitUntil } from './support.ts';
import { steadily, times } from './webhooks/pace.ts';

export const urgencyMeasurements = ['invitations'];

const invitations = 50_000;
/** Inserted at a time. */
const aStatement = 5_000;
const codes = 100;
const everyMs = 200;
const warmUpCodes = 20;
const arrivalLimitMs = 60_000;
/** Of the p95 alone. */
const aim = 2;

interface Scene {
  db: Database;
  vault: Vault;
  clubId: Id;
  /** By recipient: when the mail arrived, by `performance.now()`. */
  arrivals: ReadonlyMap<string, number>;
}

export async function benchUrgency(): Promise<void> {
  const arrivals = new Map<string, number>();
  const smtp = mailboxSmtp(async ({ to }) => {
    for (const address of to) arrivals.set(address, performance.now());
  });
  await new Promise<void>((resolve) => smtp.server.listen(0, host, () => resolve()));
  const smtpUrl = `smtp://${host}:${(smtp.server.server.address() as AddressInfo).port}`;
  await onFreshStack(['temporal', 'postgres'], async ({ env, launch }) => {
    const config = readConfig(env);
    const source = await createDataSource(config.database, 'club-bench').initialize();
    await migrate(source);
    const clubId = newId();
    await source.query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', 'club', now())`, [clubId]);
    const notifier = createNotifier(source, () => {});
    const scene = { db: new Database(source, notifier), vault: createVault(config.masterKey), clubId, arrivals };
    await launch('worker/main.ts', 'WORKER_PORT', { SMTP_URL: smtpUrl });
    await measure(scene, warmUpCodes);

    const alone = await measure(scene, codes);
    progress('queueing the invitations');
    for (let queued = 0; queued < invitations; queued += aStatement) await queueInvitations(source, clubId);
    notifier.notify();
    await sleep(5_000);
    const beside = await measure(scene, codes);
    const left = await waiting(source);
    progress(`${left} of ${invitations} invitations still waited at the end`);
    if (left === 0) throw new Error('The invitations were gone before the measurement ended.');
    for (const [figure, kind] of [
      ['a code’s mail', 'mails'],
      ['an answer’s wake', 'wakes'],
    ] as const) {
      const [value, ofAlone] = [quantile(beside[kind], 0.95), quantile(alone[kind], 0.95)];
      report(`p95 ms of ${figure} beside ${invitations} invitations`, {
        value,
        alone: ofAlone,
        ratio: value / ofAlone,
        aim,
      });
    }
    await source.destroy();
  });
  await smtp.stop();
}

/** Asks for codes at a pace, and wakes an answer beside each. @returns the milliseconds to a mail's arrival, and to a wake's end */
async function measure(scene: Scene, count: number): Promise<{ mails: number[]; wakes: number[] }> {
  const { db, vault, clubId, arrivals } = scene;
  const asked = new Map<string, number>();
  const wakes: Promise<number>[] = [];
  await steadily(
    everyMs,
    async () => {
      const [studentId, questionId] = [newId(), newId()];
      const email = `${studentId}@example.com`;
      await db.source.query(
        `INSERT INTO students (id, club_id, name, email, verified_at, created_at) VALUES ($1, $2, 'Student', $3, now(), now())`,
        [studentId, clubId, email],
      );
      const now = new Date();
      await db.transaction(async (tx) => {
        await requestMail(tx, vault, { template: 'student_code', clubId, recipient: { studentId }, email }, now);
        await wake(tx, 'agentAnswer', [{ questionId, clubId, agentId: clubId }], now);
      });
      asked.set(email, performance.now());
      wakes.push(untilSent(db.source, questionId));
    },
    times(count),
  );
  await waitUntil(`${count} codes arrive`, () => [...asked.keys()].every((email) => arrivals.has(email)), {
    timeoutMs: arrivalLimitMs,
    progressSoFar: () => `${[...asked.keys()].filter((email) => arrivals.has(email)).length} have`,
  });
  return {
    mails: [...asked].map(([email, at]) => (arrivals.get(email) ?? Number.NaN) - at),
    wakes: await Promise.all(wakes),
  };
}

async function untilSent(source: DataSource, subjectId: Id): Promise<number> {
  const begun = performance.now();
  const isSent = async () =>
    (await source.query<unknown[]>(`SELECT 1 FROM wakes WHERE workflow_id = $1`, [`agent-answer/${subjectId}`]))
      .length === 0;
  await waitUntil('the wake is sent', isSent, { timeoutMs: arrivalLimitMs, everyMs: 5 });
  return performance.now() - begun;
}

/** What an import leaves: students with a token, a mail and a wake each. */
async function queueInvitations(source: DataSource, clubId: Id): Promise<void> {
  await source.query(
    `WITH ids AS MATERIALIZED (
       SELECT gen_random_uuid() AS student_id, gen_random_uuid() AS token_id, gen_random_uuid() AS mail_id FROM generate_series(1, $2::int)),
     opened AS (
       INSERT INTO students (id, club_id, name, email, created_at)
       SELECT student_id, $1, 'Student', student_id || '@example.com', now() FROM ids),
     issued AS (
       INSERT INTO one_time_tokens (id, purpose, token_hash, student_id, created_at, expires_at)
       SELECT token_id, 'student_invitation', sha256(token_id::text::bytea), student_id, now(), now() + interval '7 days' FROM ids),
     asked AS (
       INSERT INTO transactional_mails (id, club_id, template, student_id, token_id, address_key, status, next_attempt_at, created_at, priority)
       SELECT mail_id, $1, 'student_invitation', student_id, token_id, '\\x00', 'pending', now(), now(), 2 FROM ids)
     INSERT INTO wakes (workflow_id, workflow_type, subject_id, club_id, attributes, recorded_at, priority)
     SELECT 'transactional-mail/' || mail_id, 'transactionalMail', mail_id, $1, '{}', now(), 2 FROM ids`,
    [clubId, aStatement],
  );
}

async function waiting(source: DataSource): Promise<number> {
  const [row] = await source.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM transactional_mails WHERE priority = 2 AND status = 'pending'`,
  );
  return row?.count ?? 0;
}
