/**
 * `npm run prove -- faults deploy` replaces one build by another several times, while facts, questions and reads arrive. A proxy sends
 * requests only to processes that are ready by `/readyz`. The proof kills `migrate` and `promote` once in each deploy. One build makes
 * first attempts in workflows, and the other build makes them directly. A share of the facts commits before the first deploy, so that
 * delivery times can be compared. `--facts N` makes a shorter run.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../../config.ts';
import { describeExit, type Child } from '../../../dev/stack/children.ts';
import { startFakeModel } from '../../../dev/fake-model/fake-model.ts';
import { freePorts, host } from '../../../dev/stack/ports.ts';
import { messageOf, Problem } from '../../../dev/problem.ts';
import { untilOk } from '../../../dev/stack/readiness.ts';
import { startStack } from '../../../dev/stack/stack.ts';
import { removeDataElsewhere } from '../../../dev/stack/postgres-place.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { askOnce, type Seen } from './agents/asker.ts';
import { buildClass } from './agents/class.ts';
import { tallyAnswers } from './agents/tally.ts';
import { buildAudience } from './audience.ts';
import { buildNames, installBuilds, type BuildName, type InstalledBuild } from './deploy/builds.ts';
import { startProxy, type Proxy } from './deploy/proxy.ts';
import { startReading } from './deploy/reading.ts';
import { bareEnvironment } from './environment.ts';
import { factsAbout } from './facts.ts';
import { killed, toItsEnd } from './processes.ts';
import { progress } from './progress.ts';
import { between } from './ranges.ts';
import { startCounting } from './receipts.ts';
import { tallyDeliveries, untilTold } from './tally.ts';

const deploys = 6;
const usualFacts = 2_000;
/** A deploy takes about this long on two cores. The proof spreads the facts of a deploy over this time. */
const deployMs = 28_000;
/**
 * An old build may begin steps for `handedOverMs` after the promotion of the next build. The proof watches the old build for `watchedMs`
 * longer.
 */
const handedOverMs = 5_000;
const watchedMs = 2_000;
/** The time between the start of a command and its kill: some commands end before the kill, and others have not begun to work. */
const killedAfterMs = { least: 300, most: 4_000 };
const readyWithinMs = 180_000;
/** The time limit for the exit of the old processes. It is short, because answers take only seconds in this proof. */
const endsWithinMs = 120_000;
/** The time limit for the last delivery. A refused delivery waits for half a minute. */
const deadlineMs = 5 * 60_000;
const students = 6;
/** Answers take four to ten seconds, so that each deploy interrupts some. */
const words = { least: 80, most: 200 };
const wordMs = 50;
const pauseMs = { least: 0, most: 1_000 };

interface Fleet {
  readonly build: InstalledBuild;
  readonly api: Child;
  readonly worker: Child;
  readonly apiUrl: string;
}

/** A step that a build began, as the receiver or the model saw it. */
interface BegunStep {
  readonly build: BuildName;
  /** Unix milliseconds. */
  readonly at: number;
}

interface Deployment {
  readonly old: BuildName;
  /** The end of this `promote`, and the beginning of the next `promote`, in Unix milliseconds. */
  readonly promotedAt: number;
  nextAt: number;
}

/** @returns the exit code */
export async function deployFaults(interrupted: Promise<unknown>, args: readonly string[]): Promise<number> {
  const facts = factsIn(args);
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-deploys-'));
  const stops: (() => Promise<unknown>)[] = [];
  try {
    return await Promise.race([run(directory, facts, stops), interrupted.then(() => 130)]);
  } finally {
    for (const stop of stops.toReversed()) await stop();
    await rm(directory, { recursive: true, force: true });
  }
}

function factsIn(args: readonly string[]): number {
  const usage = `Usage: npm run prove -- faults deploy [--facts N], where N is a whole number from ${deploys + 1}, for example 300.`;
  let facts: number;
  try {
    facts = Number(parseArgs({ args: [...args], options: { facts: { type: 'string' } } }).values.facts ?? usualFacts);
  } catch (error) {
    throw new Problem(`${messageOf(error).split('. ')[0]}. ${usage}`);
  }
  if (!Number.isInteger(facts) || facts <= deploys) throw new Problem(usage);
  return facts;
}

async function run(directory: string, facts: number, stops: (() => Promise<unknown>)[]): Promise<number> {
  const builds = await installBuilds(path.join(directory, 'builds'));
  progress(`built: ${buildNames.map((name) => `${name} ${builds[name].buildId}`).join(', ')}`);
  const data = path.join(directory, 'stack');
  const stack = await startStack({
    directory: data,
    ports: 'free',
    parts: ['temporal', 'postgres'],
    env: { PATH: process.env['PATH'] },
    onUnexpectedEnd: progress,
  });
  stops.push(
    () => removeDataElsewhere(path.join(data, 'postgres')),
    () => stack.stop(),
  );

  const begunSteps: BegunStep[] = [];
  const models = { port: await startFakeModel(), starboard: await startFakeModel() };
  for (const name of buildNames) {
    stops.push(() => models[name].stop());
    models[name].rule(() => {
      begunSteps.push({ build: name, at: Date.now() });
      const answer = Array.from({ length: Math.round(between(words)) }, (_, index) => `word${index} `);
      return { answer, delayMs: wordMs };
    });
  }
  const receipts = await startCounting(await stack.authority.issue(['127.0.0.1']), ({ 'user-agent': agent = '' }) => {
    const build = buildNames.find((name) => agent.startsWith(`${name}-webhooks/`));
    if (build === undefined) throw new Error(`An attempt names no known build: ${agent}`);
    begunSteps.push({ build, at: Date.now() });
  });
  stops.push(receipts.stop);
  const proxy = await startProxy();
  stops.push(proxy.stop);

  const env = {
    ...bareEnvironment,
    ...stack.environment,
    API_CLOSES_AFTER_MS: '2000',
    ANTHROPIC_API_KEY: 'unused',
  };
  /** Each build has its own `User-Agent` and its own model, so that the proof knows which build began a step. */
  const envOf = (name: BuildName) => ({
    ...env,
    SERVICE_NAME: name,
    ANTHROPIC_BASE_URL: models[name].url,
    WEBHOOK_FIRST_ATTEMPT: name === 'port' ? 'workflow' : 'direct',
  });
  const ground: Ground = { builds, envOf, proxy, stops };

  let [now, next]: BuildName[] = [...buildNames];
  if (now === undefined || next === undefined) throw new Error('This proof needs two builds.');
  await toItsEnd(builds[now].run('migrate', envOf(now)));
  let fleet = await startFleet(ground, now);
  await toItsEnd(builds[now].run('promote', envOf(now)));
  progress(`installed: ${now}`);

  const config = readConfig(envOf(now));
  const source = await createDataSource(config.database, 'club-faults').initialize();
  stops.push(() => source.destroy());
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const subjects = await buildAudience(source, createVault(config.masterKey), facts, receipts.urlOf);
  const share = Math.ceil(facts / (deploys + 1));
  const author = factsAbout(subjects, { db, apiUrl: proxy.url, everyMs: deployMs / share });
  const asking = await startAsking(source, proxy);
  const reading = startReading(subjects, proxy);
  const deployments: Deployment[] = [];
  let reportedRefusals = 0;

  await author.commit(share);
  const firstDeployAt = new Date();
  for (let number = 1; number <= deploys; number++) {
    const [takeover] = await Promise.all([
      deploy(ground, fleet, next, deployments.at(-1)),
      author.commit(Math.min(share, facts - author.committed)),
    ]);
    fleet = takeover.fleet;
    deployments.push(takeover.deployment);
    [now, next] = [next, now];
    for (const line of proxy.refused.slice(reportedRefusals)) progress(`refused: ${line}`);
    reportedRefusals = proxy.refused.length;
    progress(
      `deploy ${number}: ${now} has taken over; facts ${author.committed} committed, ${receipts.events} received, ` +
        `${asking.seen.length} questions answered, ${proxy.answered} requests answered, ${proxy.refused.length} refused`,
    );
  }
  await reading.stop();
  await asking.stop();
  await untilTold(source, deadlineMs);

  const { facts: committed, lostFacts: lost } = await tallyDeliveries(source, subjects, receipts);
  const answers = await tallyAnswers(source, asking.seen, [...models.port.requests, ...models.starboard.requests]);
  const incomplete = asking.seen.filter(({ status }) => status !== 'complete');
  const late = deployments.flatMap(({ old, promotedAt, nextAt }) =>
    begunSteps
      .filter(({ build, at }) => build === old && at > promotedAt + handedOverMs && at < nextAt)
      .map(({ at }) => `${old} began a step ${((at - promotedAt) / 1_000).toFixed(1)} s after it was superseded`),
  );
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const cut = [
    ...answers.lostAnswers,
    ...answers.torn,
    ...answers.miscounted,
    ...incomplete.map(({ questionId, status }) => `question ${questionId} ended ${status}`),
  ];
  for (const line of [...lost, ...cut, ...proxy.refused, ...late]) print(line);
  const handedOver = deployments.map(({ old, promotedAt, nextAt }) =>
    Math.max(
      0,
      ...begunSteps
        .filter(({ build, at }) => build === old && at > promotedAt && at < nextAt)
        .map(({ at }) => at - promotedAt),
    ),
  );
  print(
    `the last step of each old build: ${handedOver.map((ms) => `${(ms / 1_000).toFixed(1)} s`).join(', ')} after promote`,
  );
  print(
    `steps of ${buildNames.map((name) => `${name} ${begunSteps.filter(({ build }) => build === name).length}`).join(', ')}; ` +
      `${asking.seen.length} questions, of which ${asking.seen.filter(({ reattached }) => reattached > 0).length} were followed at another process; ` +
      `${proxy.answered} requests`,
  );
  print(await delays(source, firstDeployAt));
  print(
    `deploys ${deployments.length}, facts ${committed}, lost ${lost.length}, answers cut ${cut.length}, requests refused ${proxy.refused.length}, ` +
      `steps begun by an old build 5 s after promote ${late.length}`,
  );
  return lost.length + cut.length + proxy.refused.length + late.length === 0 ? 0 : 1;
}

/** Measures the time from a fact to its recorded delivery, without deliveries that a receiver refused. */
async function delays(source: DataSource, firstDeployAt: Date): Promise<string> {
  const [row] = await source.query<{ before: number; during: number }[]>(
    `SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY took) FILTER (WHERE occurred_at < $1) AS before,
            percentile_cont(0.95) WITHIN GROUP (ORDER BY took) FILTER (WHERE occurred_at >= $1) AS during
       FROM (SELECT event.occurred_at, extract(epoch FROM delivery.completed_at - event.occurred_at)::float8 * 1000 AS took
               FROM webhook_deliveries delivery JOIN webhook_events event ON event.id = delivery.event_id
              WHERE delivery.attempt_count = 1) AS one`,
    [firstDeployAt],
  );
  const { before = NaN, during = NaN } = row ?? {};
  return `from a fact to its delivery, p95: ${during.toFixed(0)} ms beside deploys, ${before.toFixed(0)} before them, ratio ${(during / before).toFixed(2)}`;
}

interface Ground {
  readonly builds: Readonly<Record<BuildName, InstalledBuild>>;
  readonly envOf: (name: BuildName) => Readonly<Record<string, string>>;
  readonly proxy: Proxy;
  readonly stops: (() => Promise<unknown>)[];
}

/** Follows the steps of docs/how-to/upgrade.md. */
async function deploy(
  ground: Ground,
  before: Fleet,
  next: BuildName,
  last: Deployment | undefined,
): Promise<{ fleet: Fleet; deployment: Deployment }> {
  const { builds, envOf, proxy } = ground;
  await killedOnce(() => builds[next].run('migrate', envOf(next)));
  const fleet = await startFleet(ground, next);
  if (last) last.nextAt = Date.now();
  await killedOnce(() => builds[next].run('promote', envOf(next)));
  const deployment: Deployment = { old: before.build.name, promotedAt: Date.now(), nextAt: Infinity };
  await sleep(handedOverMs + watchedMs);
  await Promise.all([endInOrder(before.api), endInOrder(before.worker)]);
  proxy.remove(before.apiUrl);
  return { fleet, deployment };
}

async function startFleet({ builds, envOf, proxy, stops }: Ground, name: BuildName): Promise<Fleet> {
  const build = builds[name];
  const ports = await freePorts(['api', 'files', 'worker']);
  const apiUrl = `http://${host}:${ports.api}`;
  const env = {
    ...envOf(name),
    API_PORT: String(ports.api),
    API_METRICS_PORT: '0',
    FILES_PORT: String(ports.files),
    WORKER_PORT: String(ports.worker),
    FILES_URL: `http://${host}:${ports.files}`,
  };
  const [api, worker] = [build.run('api', env), build.run('worker', env)];
  stops.push(
    () => killed(api),
    () => killed(worker),
  );
  proxy.add(apiUrl);
  await Promise.all([
    untilOk(`${apiUrl}/readyz`, { timeoutMs: readyWithinMs, child: api }),
    untilOk(`http://${host}:${ports.worker}/readyz`, { timeoutMs: readyWithinMs, child: worker }),
  ]);
  return { build, api, worker, apiUrl };
}

async function killedOnce(start: () => Child): Promise<void> {
  const first = start();
  await Promise.race([first.exited, sleep(between(killedAfterMs))]);
  await killed(first);
  const { signal } = await first.exited;
  progress(`${first.name} ${signal === null ? 'had ended before it was to be killed' : 'was killed'}`);
  await toItsEnd(start());
}

async function endInOrder(child: Child): Promise<void> {
  if (child.pid === undefined) return;
  process.kill(child.pid, 'SIGTERM');
  const signalledAt = performance.now();
  const firmly = setTimeout(() => void killed(child), endsWithinMs);
  const exit = await child.exited;
  clearTimeout(firmly);
  if (exit.code !== 0) throw new Problem(describeExit(child, exit));
  progress(`${child.name} has ended after ${((performance.now() - signalledAt) / 1_000).toFixed(1)} s`);
}

async function startAsking(source: Parameters<typeof buildClass>[0], proxy: Proxy) {
  const { clubId, publicId, tokens } = await buildClass(source, students);
  const seenQuestions: Seen[] = [];
  const over = new AbortController();
  let isAsking = true;
  const all = Promise.all(
    tokens.map(async (token) => {
      while (isAsking) {
        seenQuestions.push(await askOnce({ clubId, publicId, apiUrl: proxy.url }, token, 'Which knot?', over.signal));
        await sleep(between(pauseMs));
      }
    }),
  );
  all.catch(() => undefined); // `stop` throws the error
  return {
    seen: seenQuestions,
    async stop() {
      isAsking = false;
      const timer = setTimeout(() => over.abort(), deadlineMs);
      await all;
      clearTimeout(timer);
    },
  };
}
