/**
 * `npm run bench -- urgency` measures how long people wait for a sign-in code, and for the first words of an answer (ENG-15). It compares
 * rounds with and without 50,000 queued invitations of the club. The rounds alternate, so that other load affects both kinds.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../config.ts';
import { host } from '../dev/stack/ports.ts';
import { requestMail } from '../domain/mail/transactional/requests.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { createNotifier } from '../platform/infra/postgres/notifications.ts';
import { createVault, type Vault } from '../platform/infra/keys/vault.ts';
import { askProduct } from './agents/asking.ts';
import { modelServerAt } from './agents/model-server.ts';
import { addClub, pick, type BenchStudent } from './agents/scene.ts';
import { onMailbox } from './codes.ts';
import { onFreshStack, progress, quantile, report, waitUntil } from './support.ts';
import { steadily, times } from './webhooks/pace.ts';

export const urgencyMeasurements = ['invitations'];

const invitations = 50_000;
/** The number of rows in one statement. */
const aStatement = 5_000;
/** Each pair is a code and a question. All pairs take about twelve seconds. */
const pairs = 40;
const everyMs = 300;
/** The number of rounds of each kind. */
const rounds = 3;
/** A missing code or answer counts with this time, so that it makes the figure worse. */
const arrivalLimitMs = 30_000;
/** Bulk work runs for this time before the measurement. */
const underWayMs = 5_000;
const drainMs = 60_000;
/** The p95, as a multiple of the p95 without invitations. */
const aim = 2;

const kinds = { codes: 'a code’s mail', words: 'an answer’s first words' } as const;
type Delays = Record<keyof typeof kinds, number[]>;

interface Scene {
  db: Database;
  vault: Vault;
  api: string;
  students: readonly BenchStudent[];
  clubId: Id;
  /** The time for each recipient, in `performance.now()`. */
  arrivals: ReadonlyMap<string, number>;
}

export async function benchUrgency(): Promise<void> {
  await onMailbox(({ smtpUrl, arrivals }) =>
    onFreshStack(['temporal', 'postgres'], async ({ env, launch }) => {
      const config = readConfig(env);
      const source = await createDataSource(config.database, 'club-bench').initialize();
      await migrate(source);
      const students = await addClub(source, pairs);
      const model = await launch('dev/fake-model/serve.ts', 'FAKE_MODEL_PORT');
      const modelUrl = `http://${host}:${model.port}`;
      const asking = { ANTHROPIC_API_KEY: 'bench', ANTHROPIC_BASE_URL: modelUrl, TRUSTED_PROXIES: '127.0.0.0/8' };
      const pace = process.env['BULK_STARTS_PER_SECOND'];
      await launch('worker/main.ts', 'WORKER_PORT', {
        ...asking,
        SMTP_URL: smtpUrl,
        ...(pace !== undefined && { BULK_STARTS_PER_SECOND: pace }),
      });
      const { port } = await launch('api/server.ts', 'API_PORT', asking);
      await modelServerAt(modelUrl).obey({ recite: { deltas: 5, characters: 24 } });
      const scene: Scene = {
        db: new Database(
          source,
          createNotifier(source, () => {}),
        ),
        vault: createVault(config.masterKey),
        api: `http://${host}:${port}`,
        students,
        clubId: students[0]?.clubId ?? '',
        arrivals,
      };
      await measureRounds(scene);
      await source.destroy();
    }),
  );
}

async function measureRounds(scene: Scene): Promise<void> {
  const { source } = scene.db;
  progress('warming up');
  await measure(scene);
  progress('queueing the invitations');
  for (let queued = 0; queued < invitations; queued += aStatement) await queueInvitations(source, scene.clubId);
  await source.query('ANALYZE wakes, transactional_mails, one_time_tokens, students');
  const [alone, beside]: [Delays[], Delays[]] = [[], []];
  let codesSent = 0;
  let seconds = 0;
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}: alone`);
    await setAside(source, true);
    await untilNoneIsUnderWay(source);
    alone.push(await measure(scene));
    progress(`round ${round} of ${rounds}: beside`);
    await setAside(source, false);
    scene.db.notifier.notify();
    await sleep(underWayMs);
    const [before, startedAt] = [await waiting(source), performance.now()];
    beside.push(await measure(scene));
    codesSent += before - (await waiting(source));
    seconds += (performance.now() - startedAt) / 1_000;
  }
  if ((await waiting(source)) === 0) throw new Error('The invitations were gone before the measurement ended.');
  report('invitations sent a second meanwhile', { value: codesSent / seconds });
  for (const [kind, name] of Object.entries(kinds) as [keyof typeof kinds, string][]) {
    for (const share of [0.5, 0.95]) {
      const medianOf = (of: readonly Delays[]) =>
        quantile(
          of.map((delays) => quantile(delays[kind], share)),
          0.5,
        );
      const [value, ofAlone] = [medianOf(beside), medianOf(alone)];
      report(`p${share * 100} ms of ${name} beside ${invitations} invitations`, {
        value,
        alone: ofAlone,
        ratio: value / ofAlone,
        ...(share === 0.95 && { aim }),
      });
    }
  }
}

/**
 * Starts the calls at a steady rate.
 * @returns milliseconds from each code to its mail, and from each question to the first words of its answer
 */
async function measure({ db, vault, api, students, clubId, arrivals }: Scene): Promise<Delays> {
  const requestTimes = new Map<string, number>();
  const words: Promise<number>[] = [];
  await steadily(
    everyMs,
    async (index) => {
      const studentId = newId();
      const email = `${studentId}@example.com`;
      const now = new Date();
      await db.transaction(async (tx) => {
        await tx.manager.query(
          `INSERT INTO students (id, club_id, name, email, verified_at, created_at) VALUES ($1, $2, 'Student', $3, $4, $4)`,
          [studentId, clubId, email, now],
        );
        await requestMail(tx, vault, { template: 'student_code', clubId, recipient: { studentId }, email }, now);
      });
      requestTimes.set(email, performance.now());
      words.push(untilFirstWords(api, pick(students, index)));
    },
    times(pairs),
  );
  const limit = performance.now() + arrivalLimitMs;
  const isDone = () => [...requestTimes.keys()].every((email) => arrivals.has(email)) || performance.now() > limit;
  await waitUntil('the codes arrive', isDone, { timeoutMs: 2 * arrivalLimitMs });
  return {
    codes: [...requestTimes].map(([email, at]) => Math.min(arrivalLimitMs, (arrivals.get(email) ?? Infinity) - at)),
    words: await Promise.all(words),
  };
}

async function untilFirstWords(api: string, student: BenchStudent): Promise<number> {
  const startedAt = performance.now();
  const first = Promise.withResolvers<void>();
  const answer = askProduct(api, student, first.resolve);
  await Promise.race([first.promise, answer, sleep(arrivalLimitMs)]);
  return performance.now() - startedAt;
}

/** The rows of an import: for each student a token, a mail and a wake. */
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
       SELECT mail_id, $1, 'student_invitation', student_id, token_id, '\\x00', 'pending', now() + interval '1 day', now(), 2 FROM ids)
     INSERT INTO wakes (workflow_id, workflow_type, subject_id, club_id, attributes, recorded_at, due_at, priority)
     SELECT 'transactional-mail/' || mail_id, 'transactionalMail', mail_id, $1, '{}', now(), now() + interval '1 day', 2 FROM ids`,
    [clubId, aStatement],
  );
}

/** Postpones the rows by a day, or makes them due. The sweeper would wake rows that stay due. */
async function setAside(source: DataSource, aside: boolean): Promise<void> {
  const at = aside ? `now() + interval '1 day'` : 'now()';
  await source.query(
    `WITH due AS (UPDATE wakes SET due_at = ${at} WHERE priority = 2 AND lease_until IS NULL RETURNING subject_id)
     UPDATE transactional_mails SET next_attempt_at = ${at} FROM due WHERE id = due.subject_id AND status = 'pending'`,
  );
  await source.query('VACUUM ANALYZE wakes');
}

/** Bulk runs that have already started continue for some time. */
async function untilNoneIsUnderWay(source: DataSource): Promise<void> {
  const isOver = async () => {
    const [row] = await source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM transactional_mails WHERE priority = 2 AND status = 'pending' AND next_attempt_at < now() + interval '1 hour'`,
    );
    return row?.count === 0;
  };
  await waitUntil('bulk under way ends', isOver, { timeoutMs: drainMs, everyMs: 250 });
}

async function waiting(source: DataSource): Promise<number> {
  const [row] = await source.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM transactional_mails WHERE priority = 2 AND status = 'pending'`,
  );
  return row?.count ?? 0;
}
