/**
 * `npm run prove -- faults overage`: 200 clubs exceed their allowance in three months. The proof kills the worker, the API, Postgres and
 * Temporal at random times. It also kills the worker at each step of a charge, and between two statements that end a month. The payment
 * processor loses answers, and forgets its idempotency keys. Its events arrive twice and in any order. Its own ledger must have exactly one
 * item for each club and month.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../../config.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { startStripe, type StripeServer } from '../../toolkit/fakes/stripe-server.ts';
import { buildBilledClub, lastMonths, postEvents, type BilledClub } from './overage/scene.ts';
import { tallyOverages, type OverageTally } from './overage/tally.ts';
import { untilDone } from './patience.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { triggerRetention } from './retention.ts';
import { killAtStep, killWorkerAtStatement } from './steps.ts';
import { killInTurn } from './turns.ts';
import { onGround, victims as processes, type Ground, type Victim } from './victims.ts';

const clubCount = 200;
const monthCount = 3;
const rounds = 2;
const aliveForMs = { least: 2_000, most: 8_000 };
const deadForMs = { least: 0, most: 2_000 };
/** The statements of a month that ends. Statement 8 comes after the commit. */
const statements = { least: 1, most: 8 };
const workerAtStatement = 'worker at a statement';
const failpoints = [
  'overage_claimed',
  'overage_searched',
  'overage_keyed',
  'overage_charged',
  'overage_recorded',
  'wake_sent',
] as const;
type Failpoint = (typeof failpoints)[number];
const victims = [...processes.flatMap((victim) => [victim, workerAtStatement] as const), ...failpoints] as const;
/** This share of the calls that make an item or an invoice has its effect, and answers 500. */
const lostAnswers = 0.2;
/** Keys are forgotten this often. The search for the item must find it. */
const forgetsEveryMs = 20_000;
/** The time limit for the last charges: a lease of two minutes, a failed attempt, two minutes for the sweeper, and one more try. */
const deadlineMs = 10 * 60_000;
const lookEveryMs = 2_000;
const webhookSecret = 'whsec_faults_5kQ2mJ3nT9XcK8vE0yRb7LdW';

/** @returns the exit code */
export async function overageFaults(interrupted: Promise<unknown>): Promise<number> {
  const stripe = await startStripe();
  try {
    return (
      (await onGround(interrupted, (ground) => chargeWhileKilling(ground, stripe), {
        WORKER_TASK_QUEUES: 'billing,upkeep',
        STRIPE_SECRET_KEY: stripe.secretKey,
        STRIPE_API_URL: stripe.url,
        STRIPE_WEBHOOK_SECRET: webhookSecret,
        TRUSTED_PROXIES: '127.0.0.1/32', // so the events come from several addresses, and no rate limit holds them up
      })) ?? 1
    );
  } finally {
    await stripe.stop();
  }
}

async function chargeWhileKilling(ground: Ground, stripe: StripeServer): Promise<number> {
  const config = readConfig(ground.env);
  const source = await createDataSource(config.database, 'club-faults').initialize();
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const clubs: BilledClub[] = [];
  while (clubs.length < clubCount) clubs.push(await buildBilledClub(source, stripe, clubs.length));
  const { months, firstTurn } = lastMonths(monthCount);
  const beginMonths = async (some: readonly BilledClub[]) => {
    await Promise.all(some.map((club) => postEvents(ground.urls.API, webhookSecret, club)));
    for (const club of some) await untilDone(() => exceedInMonth(source, club, months[0] ?? '', firstTurn));
  };
  const stopTrouble = makeTrouble(stripe);
  const beganAt = elapsedSeconds();
  const killCount = rounds * victims.length;
  const batches = Array.from({ length: killCount }, (_, place) =>
    clubs.filter((_club, number) => number % killCount === place),
  );
  let [missed, begun] = [0, 0];
  const work: Promise<void>[] = [];
  const kills = await killInTurn({
    victims,
    rounds,
    deadForMs,
    async beforeKill() {
      const batch = batches.shift() ?? [];
      begun += batch.length;
      const doing = beginMonths(batch).then(() => triggerRetention(ground));
      doing.catch(() => undefined); // the await below throws the error
      work.push(doing);
      await sleep(between(aliveForMs));
    },
    async kill(victim) {
      if (victim === workerAtStatement)
        missed += (await killWorkerAtStatement(ground, Math.round(between(statements)))) ? 0 : 1;
      else if (isFailpoint(victim)) missed += (await killAtStep(ground, victim)) ? 0 : 1;
      else await ground.kill(victim satisfies Victim);
    },
    startAgain: (victim) =>
      ground.startAgain(victim === workerAtStatement || isFailpoint(victim) ? 'worker' : (victim satisfies Victim)),
    standing: () => `${begun} clubs begun, ${stripe.items.length} items at the processor`,
  });
  progress('all processes run again; waiting for the last charges');
  await Promise.all(work);
  await untilCharged(ground, db, clubs.length * monthCount);
  stopTrouble();
  const wrongPlans = await plansThatDiffer(source);
  const tally = tallyOverages(clubs, months, stripe.items);
  await source.destroy();
  print(
    `${kills.length} kills in ${(elapsedSeconds() - beganAt).toFixed(0)} s, ${missed} of them not at their step; processes that ended by themselves: ${ground.endedByItself}`,
  );
  return report({ ...tally, wrong: [...tally.wrong, ...wrongPlans] });
}

const isFailpoint = (victim: string): victim is Failpoint => failpoints.some((name) => name === victim);

/** Records an excess in the first month, and lets this month end. */
async function exceedInMonth(source: DataSource, { clubId }: BilledClub, month: string, turnsAt: Date): Promise<void> {
  await source.query(
    `WITH open AS (INSERT INTO overages (club_id, resource, month, excess, reached_at, plan)
       SELECT club_id, 'students', $2, excess, now(), 'business' FROM overages WHERE club_id = $1 AND resource = 'students' LIMIT 1
       ON CONFLICT DO NOTHING)
     INSERT INTO overage_turns (club_id, turns_at) VALUES ($1, $3) ON CONFLICT (club_id) DO UPDATE SET turns_at = excluded.turns_at`,
    [clubId, month, turnsAt],
  );
}

/** The processor loses answers, and forgets keys. @returns a function that ends the trouble */
function makeTrouble(stripe: StripeServer): () => void {
  const fates = () =>
    Array.from({ length: 50 }, () =>
      Math.random() < lostAnswers ? ('error_after_charge' as const) : ('paid' as const),
    );
  const refill = setInterval(() => {
    stripe.pathFates = { '/v1/invoiceitems': fates(), '/v1/invoices': fates() };
  }, 1_000);
  const forget = setInterval(() => stripe.forgetKeys(), forgetsEveryMs);
  return () => {
    clearInterval(refill);
    clearInterval(forget);
    stripe.pathFates = {};
  };
}

interface Remainder {
  months: number;
  open: number;
}

/** Shortens waits after lost answers to 10 s at most, because this proof is about kills. */
async function untilCharged(ground: Ground, db: Database, expected: number): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  for (let looks = 1; performance.now() < deadline; looks++) {
    const rest = await untilDone(() =>
      db.one<Remainder>(sql`
        SELECT (SELECT count(*)::int FROM overage_charges) AS months,
               (SELECT count(*)::int FROM overage_charges
                 WHERE status = 'pending' AND (item_id IS NULL OR next_attempt_at < now() + interval '1 hour')) AS open`),
    );
    if (rest && rest.months >= expected && rest.open === 0) return;
    if (looks % 10 === 0) progress(`${rest?.months} charges begun, ${rest?.open} of them open`);
    if (looks % 5 === 0) await triggerRetention(ground);
    const soon = new Date(Date.now() + 10_000);
    await untilDone(() =>
      db.transaction(async (tx) => {
        const now = new Date();
        const waiting = await tx.rows<{ id: Id; clubId: Id }>(sql`
          UPDATE overage_charges SET next_attempt_at = ${now}
           WHERE status = 'pending' AND next_attempt_at > ${soon} AND next_attempt_at < now() + interval '2 hours' AND lease_until IS NULL
          RETURNING id, club_id AS "clubId"`);
        await wake(tx, 'overageCharge', waiting, now);
      }),
    );
    await sleep(lookEveryMs);
  }
  progress('the time is over');
}

/** All orders of the same events lead to one plan. */
async function plansThatDiffer(source: DataSource): Promise<string[]> {
  const rows = await source.query<{ text: string }[]>(
    `SELECT concat_ws(' ', club_id, plan, status) AS text FROM club_plans WHERE plan <> 'business' OR status <> 'active'`,
  );
  return rows.map(({ text }) => `the plan differs: ${text}`);
}

/** @returns the exit code */
function report({ charged, twice, missing, wrong }: OverageTally): number {
  for (const [name, lines] of Object.entries({ twice, missing, wrong }))
    for (const line of lines.slice(0, 20)) print(`${name}: ${line}`);
  print(
    `clubs ${clubCount}, months ${monthCount}, charged ${charged}, twice ${twice.length}, missing ${missing.length}`,
  );
  return charged === clubCount * monthCount && twice.length + missing.length + wrong.length === 0 ? 0 : 1;
}

const print = (line: string) => process.stdout.write(`${line}\n`);
