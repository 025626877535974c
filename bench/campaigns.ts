/**
 * `npm run bench -- campaigns [throughput | large | freeze | deliveries | pause | events]`:
 * - `throughput`, `large`: mails a second, compared with a bare pooled nodemailer loop.
 * - `freeze`: the time to freeze the recipients.
 * - `deliveries`: operation 6 at two sizes.
 * - `pause`: the time until a pause takes effect, and the delay of the club's sign-in codes beside a campaign.
 * - `events`: events of mail providers a second.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { readConfig } from '../config.ts';
import { listDeliveries } from '../domain/campaigns/recipients.ts';
import type { SendingDeps } from '../domain/campaigns/sending.ts';
import { cancelCampaign, pauseCampaign } from '../domain/campaigns/states.ts';
import { stepCampaign } from '../domain/campaigns/step.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import type { Id } from '../platform/core/ids.ts';
import { workflowIdOf } from '../platform/engine/workflow-types.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import type { HandedMessage } from '../platform/infra/smtp/smtp-hand-over.ts';
import { createVault } from '../platform/infra/keys/vault.ts';
import { sendBare } from './campaigns/bare.ts';
import { measureEvents } from './campaigns/events.ts';
import {
  begin,
  clubWithoutRate,
  draft,
  haveStudents,
  onCampaignScene,
  rateOf,
  untilEnded,
  type Scene,
} from './campaigns/scene.ts';
import { askForCodes } from './codes.ts';
import { median, onFreshStack, progress, quantile, report, reportBeside, waitUntil, type Round } from './support.ts';
import { watchCost } from './webhooks/process-cost.ts';

export const campaignMeasurements = ['throughput', 'large', 'freeze', 'deliveries', 'pause', 'events'] as const;
type Measurement = (typeof campaignMeasurements)[number];

const [small, large] = [1_000, Number(process.env['CAMPAIGN_RECIPIENTS'] ?? 100_000)];
const rounds = 5;
/** The rate of the bare loop does not depend on the number of mails. */
const bareBeside = 10_000;
const limitMs = 15 * 60_000;

export async function benchCampaigns(selection: readonly string[]): Promise<void> {
  const is = (measurement: Measurement) => selection.includes(measurement);
  if (is('freeze')) await onFreshStack(['postgres'], ({ env }) => measureFreeze(env));
  if (is('events')) await measureEvents();
  if (is('deliveries')) await onFreshStack(['postgres'], ({ env }) => measureDeliveries(env));
  if (is('throughput') || is('large') || is('pause'))
    await onCampaignScene(async (scene) => {
      const message = await messageOf(scene);
      if (is('throughput')) await measureThroughput(scene, message);
      if (is('large')) await measureLarge(scene, message);
      if (is('pause')) await measurePause(scene);
    });
}

async function measureThroughput(scene: Scene, message: HandedMessage): Promise<void> {
  const measured: Round[] = [];
  await oneCampaign(scene, small); // warms up
  for (let round = 1; round <= rounds; round++) {
    const ours = await oneCampaign(scene, small);
    measured.push({ ours: ours.rate, bare: await bareRate(scene, message, small) });
    progress(
      `round ${round} of ${rounds}: ${measured.at(-1)?.ours.toFixed(0)} beside ${measured.at(-1)?.bare.toFixed(0)}`,
    );
  }
  reportBeside(`mails/s of ${small}`, measured);
}

async function measureLarge(scene: Scene, message: HandedMessage): Promise<void> {
  await oneCampaign(scene, small);
  const few = await oneCampaign(scene, small);
  const bare = [await bareRate(scene, message, bareBeside)];
  const memoryBefore = (await watchCost(scene.worker, 0.1)).memoryMb;
  const many = await oneCampaign(scene, large);
  bare.push(await bareRate(scene, message, bareBeside));
  report(`mails/s of ${large}`, { value: many.rate, ceiling: median(bare), ratio: many.rate / median(bare) });
  report(`time a mail of ${large} beside ${small}`, { value: few.rate / many.rate });
  report('memory MB of the worker at most', { value: many.memoryMb, 'after a small one': memoryBefore });
  report('events of the run', { value: many.events });
}

interface Sent {
  rate: number;
  events: number;
  memoryMb: number;
}

async function oneCampaign(scene: Scene, recipients: number): Promise<Sent> {
  await haveStudents(scene.db.source, scene.clubId, recipients);
  await scene.forget();
  const campaignId = await draft(scene);
  let memoryMb = 0;
  const watching = setInterval(() => {
    watchCost(scene.worker, 0).then(
      (cost) => (memoryMb = Math.max(memoryMb, cost.memoryMb)),
      () => undefined,
    );
  }, 1_000);
  await begin(scene, campaignId);
  await untilEnded(scene, campaignId, limitMs);
  clearInterval(watching);
  const state = await scene.state();
  if (state.mailCount !== recipients) throw new Error(`${state.mailCount} mails arrived of ${recipients}.`);
  return { rate: rateOf(state), memoryMb, events: await eventsOf(scene, campaignId) };
}

async function eventsOf({ env }: Scene, campaignId: Id): Promise<number> {
  const { address, namespace } = readConfig(env).temporal;
  const connection = await Connection.connect({ address });
  const run = new Client({ connection, namespace }).workflow.getHandle(workflowIdOf('campaignRun', campaignId));
  const { historyLength } = await run.describe();
  await connection.close();
  return historyLength;
}

async function bareRate(scene: Scene, message: HandedMessage, count: number): Promise<number> {
  await scene.forget();
  await sendBare(scene.smtpUrl, message, count);
  return rateOf(await scene.state());
}

/** @returns a campaign's message to the mail server */
async function messageOf(scene: Scene): Promise<HandedMessage> {
  const clubId = await clubWithoutRate(scene.db);
  await haveStudents(scene.db.source, clubId, 1);
  const campaignId = await draft({ db: scene.db, clubId });
  let message: HandedMessage | undefined;
  const deps = sendingTo(scene.db, scene.vault, (handedMessage) => {
    message = handedMessage;
  });
  // The campaign never becomes due, so that no worker sends it.
  await scene.db.source.query(`UPDATE campaigns SET status = 'scheduled', scheduled_at = now() WHERE id = $1`, [
    campaignId,
  ]);
  await stepCampaign(deps, campaignId, Date.now());
  await stepCampaign(deps, campaignId, Date.now());
  if (message === undefined) throw new Error('No message was handed over.');
  return message;
}

/** Sends nothing. */
function sendingTo(db: Database, vault: SendingDeps['vault'], hand: (message: HandedMessage) => void): SendingDeps {
  const nowhere = { read: () => Promise.reject(new Error('There are no images.')) };
  return {
    db,
    vault,
    smtp: {
      connections: 1,
      onConnection: (work) => work(),
      handOver: async (message) => {
        hand(message);
        return { kind: 'accepted', reply: '250 ok' };
      },
    },
    images: { storage: nowhere, publicStorage: { put: async () => undefined }, publicFilesUrl: '' },
    fromAddress: 'news@platform.example',
    marks: { providers: [], returnAddress: undefined },
    warmUps: { clubs: [], domains: [] },
    publicUrl: 'https://api.example',
    onOutcome: () => undefined,
    failpoint: async () => undefined,
  };
}

async function measureFreeze(env: Record<string, string>): Promise<void> {
  const config = readConfig(env);
  const source = await createDataSource(config.database, 'club-bench').initialize();
  await migrate(source);
  const db = new Database(source, { notify() {} });
  const clubId = await clubWithoutRate(db);
  const deps = sendingTo(db, createVault(config.masterKey), () => undefined);
  for (const count of [large / 10, large]) {
    const took: number[] = [];
    for (let round = 1; round <= 3; round++) {
      await haveStudents(source, clubId, count);
      const campaignId = await draft({ db, clubId });
      await source.query(`UPDATE campaigns SET status = 'scheduled', scheduled_at = now() WHERE id = $1`, [campaignId]);
      const started = performance.now();
      await stepCampaign(deps, campaignId, Date.now());
      took.push((performance.now() - started) / 1_000);
      progress(`round ${round} of 3: ${took.at(-1)?.toFixed(2)} s`);
    }
    report(`freezing ${count}, s`, { value: median(took) });
  }
  await source.destroy();
}

const sizes = { short: 1_000, long: 1_000_000 };
const samples = 200;

async function measureDeliveries(env: Record<string, string>): Promise<void> {
  const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
  await migrate(source);
  const db = new Database(source, { notify() {} });
  const clubId = await clubWithoutRate(db);
  const campaigns = { short: await draft({ db, clubId }), long: await draft({ db, clubId }) };
  await haveRows(source, clubId, campaigns.short, sizes.short);
  await haveRows(source, clubId, campaigns.long, sizes.long);
  await source.query('VACUUM ANALYZE mails, list_tallies, list_tally_changes, students');
  const filters = {
    all: {},
    pending: { status: 'pending' },
    sent: { status: 'sent' },
    failed: { status: 'failed' },
    skipped: { status: 'skipped' },
  } as const;
  const took = async (campaignId: Id, filter: object, page = 1) => {
    const started = performance.now();
    await listDeliveries(db, clubId, campaignId, { page, page_size: 20, ...filter });
    return performance.now() - started;
  };
  for (const [what, filter] of Object.entries(filters)) {
    const spans: Record<keyof typeof sizes, number[]> = { short: [], long: [] };
    for (let sample = 0; sample < samples; sample++)
      for (const size of ['short', 'long'] as const) spans[size].push(await took(campaigns[size], filter));
    const [value, before] = [quantile(spans.long, 0.95), quantile(spans.short, 0.95)];
    report(`operation 6, ${what} p95 ms`, { value, [`at ${sizes.short}`]: before, ratio: value / before });
  }
  const deep: number[] = [];
  for (let sample = 0; sample < 20; sample++) deep.push(await took(campaigns.long, {}, 40_000));
  report('operation 6, page 40,000, p95 ms', { value: quantile(deep, 0.95) });
  await source.destroy();
}

/** Most mails are sent; each other status has a few mails. */
async function haveRows(source: Database['source'], clubId: Id, campaignId: Id, count: number): Promise<void> {
  const atOnce = 25_000;
  for (let remaining = count; remaining > 0; remaining -= atOnce) {
    await source.query(
      `WITH opened AS (INSERT INTO students (id, club_id, name, email, verified_at, created_at)
         SELECT id, $1, 'Maria Silva', id || '@example.com', now(), now() FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $3::int)) AS one RETURNING id, email)
       INSERT INTO mails (id, club_id, campaign_id, student_id, student_name, student_email, status, skip_reason, next_attempt_at, created_at)
       SELECT gen_random_uuid(), $1, $2, id, 'Maria Silva', email, status, CASE WHEN status = 'skipped' THEN 'unsubscribed' END, now(), now()
         FROM (SELECT *, (ARRAY['sent', 'sent', 'sent', 'sent', 'sent', 'sent', 'pending', 'pending', 'failed', 'skipped'])[1 + (random() * 9)::int] AS status FROM opened) AS one`,
      [clubId, campaignId, Math.min(remaining, atOnce)],
    );
    if (remaining % 250_000 === 0) progress(`${remaining} rows are left to be loaded`);
  }
  await source.query(
    `UPDATE campaigns SET status = 'paused', pause_reason = 'by_hand', recipients = $2 WHERE id = $1`,
    [campaignId, count],
  );
}

async function measurePause(scene: Scene): Promise<void> {
  const { db, clubId } = scene;
  const asking = { ...scene, arrivals: scene.codes };
  await askForCodes(asking); // warms up
  const alone = await askForCodes(asking);
  await haveStudents(db.source, clubId, large);
  await scene.forget();
  const campaignId = await draft(scene);
  await begin(scene, campaignId);
  await waitUntil('mails flow', async () => (await scene.state()).mailCount > 500, { timeoutMs: 60_000 });
  const beside = await askForCodes(asking);
  report('p95 ms of a code’s mail beside a campaign', { value: quantile(beside, 0.95), alone: quantile(alone, 0.95) });
  report('p50 ms of a code’s mail beside a campaign', { value: quantile(beside, 0.5), alone: quantile(alone, 0.5) });
  await pauseCampaign({ db }, clubId, campaignId, new Date());
  const pausedAt = Date.now();
  await sleep(6_000);
  const { lastAt, mailCount } = await scene.state();
  if (mailCount >= large) throw new Error('The campaign had ended before it was paused.');
  report('a pause holds after ms', { value: Math.max(0, lastAt - pausedAt) });
  const canceling = performance.now();
  await cancelCampaign({ db }, clubId, campaignId, new Date());
  report(`canceling ${large - mailCount} mails, ms`, { value: performance.now() - canceling });
}
