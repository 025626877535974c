/**
 * `npm run prove -- faults restore` commits facts while Postgres archives its log and is copied. It then notes a point in time, commits
 * more facts, and kills everything. It restores Postgres to the point twice (docs/how-to/back-up-and-restore.md): with the old Temporal,
 * which is ahead of Postgres, and with an empty Temporal. Each fact from before the point must be delivered, and no work may hang. Students
 * who were removed after the point come back, and `erase-again` removes them again. `--facts N` makes a shorter run.
 */
import { glob, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../../config.ts';
import { runCommand } from '../../../dev/stack/commands.ts';
import { locate } from '../../../dev/components.ts';
import { components } from '../../../dev/components/catalogue.ts';
import { messageOf, Problem } from '../../../dev/problem.ts';
import { startStack, type Stack } from '../../../dev/stack/stack.ts';
import { removeDataElsewhere } from '../../../dev/stack/postgres-place.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { pgBasebackup } from '../verify/programs.ts';
import { buildAudience, type Subject } from './audience.ts';
import { installBuilds, type InstalledBuild } from './deploy/builds.ts';
import { startService } from './deploy/service.ts';
import { bareEnvironment } from './environment.ts';
import { factsAbout } from './facts.ts';
import { repeated, toItsEnd } from './processes.ts';
import { progress } from './progress.ts';
import { startCounting, type Receipts } from './receipts.ts';
import { backUp, type Backup } from './restore/backup.ts';
import { eraseAgain, removeByApi, type Removals } from './restore/removals.ts';
import { rowsThatWait, runsWithoutRow } from './restore/stuck.ts';
import { remainder, tallyDeliveries } from './tally.ts';

const usualFacts = 1_000;
/** The facts after the point, as a share of the facts before it. */
const shareAfter = 0.4;
/** The base backup begins when this share of the facts is committed. */
const shareBeforeBackup = 0.5;
const everyMs = 30;
/** The students that are removed after the point. */
const removals = 6;
/** An endpoint breaks down this long before the point, so that its breaker is open at the point, and deliveries are parked. */
const breaksDownBeforeMs = 6_000;
/**
 * Work continues for this long after the point: Temporal and the receivers finish deliveries that the restored Postgres does not contain.
 */
const goesOnMs = 5_000;
/**
 * The time limit for all work after the restore. The sweeper needs three minutes, a failed attempt waits half a minute, and a breaker waits
 * a minute. The rest of the limit is for slow machines.
 */
const deadlineMs = 10 * 60_000;
const lookEveryMs = 1_000;

const waysBack = { ahead: 'Temporal as it was', empty: 'an empty Temporal' } as const;
type WayBack = keyof typeof waysBack;

type Environment = Readonly<Record<string, string>>;

interface Scene {
  build: InstalledBuild;
  directory: string;
  stack: Stack;
  backup: Backup;
  env: Environment;
  receipts: Receipts;
  subjects: readonly Subject[];
  /** The students that were removed after the point. */
  removed: readonly Subject[];
  point: string;
  stops: (() => Promise<unknown>)[];
}

/** @returns the exit code */
export async function restoreFaults(interrupted: Promise<unknown>, args: readonly string[]): Promise<number> {
  const facts = factsIn(args);
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-restores-'));
  const stops: Scene['stops'] = [];
  try {
    return await Promise.race([run(directory, facts, stops), interrupted.then(() => 130)]);
  } finally {
    for (const stop of stops.toReversed()) await stop();
    await rm(directory, { recursive: true, force: true });
  }
}

function factsIn(args: readonly string[]): number {
  const usage =
    'Usage: npm run prove -- faults restore [--facts N], where N is a whole number from 100, for example 300.';
  let facts: number;
  try {
    facts = Number(parseArgs({ args: [...args], options: { facts: { type: 'string' } } }).values.facts ?? usualFacts);
  } catch (error) {
    throw new Problem(`${messageOf(error).split('. ')[0]}. ${usage}`);
  }
  if (!Number.isInteger(facts) || facts < 100) throw new Problem(usage);
  return facts;
}

async function run(directory: string, facts: number, stops: Scene['stops']): Promise<number> {
  const program = await pgBasebackup(path.join(directory, 'programs'));
  const { port: build } = await installBuilds(path.join(directory, 'builds'));
  const stackDirectory = path.join(directory, 'stack');
  const stack = await startStack({
    directory: stackDirectory,
    ports: 'free',
    durable: true,
    parts: ['temporal', 'postgres', 'storage'],
    env: { PATH: process.env['PATH'] },
    onUnexpectedEnd: progress,
  });
  stops.push(
    () => removeDataElsewhere(path.join(stackDirectory, 'postgres')),
    () => stack.stop(),
  );
  const backup = await backUp(stack, path.join(stackDirectory, 'postgres'), program);
  const receipts = await startCounting(await stack.authority.issue(['127.0.0.1']));
  stops.push(receipts.stop);
  const env = {
    ...bareEnvironment,
    ...stack.environment,
    TEMPORAL_NAMESPACE: 'made-by-setup',
  };

  const { subjects, removed, point } = await load({ build, stack, backup, env, receipts, stops }, facts);
  const scene: Scene = {
    build,
    directory: stackDirectory,
    stack,
    backup,
    env,
    receipts,
    subjects,
    removed,
    point,
    stops,
  };
  let isWhole = true;
  for (const way of Object.keys(waysBack) as WayBack[]) {
    const { lostFacts, stuck, again } = await comeBack(scene, way);
    for (const line of [...lostFacts, ...stuck]) process.stdout.write(`${line}\n`);
    process.stdout.write(
      `with ${waysBack[way]}:\nfacts before the point ${facts}, lost ${lostFacts.length}, rows stuck ${stuck.length}\nremoved after the point ${again.removed}, back ${again.back}, after erase-again ${again.remaining}\n`,
    );
    isWhole &&= lostFacts.length + stuck.length === 0;
    isWhole &&= again.back === again.removed && again.remaining === 0;
  }
  return isWhole ? 0 : 1;
}

async function load(
  { build, stack, backup, env, receipts, stops }: Omit<Scene, 'directory' | 'subjects' | 'removed' | 'point'>,
  facts: number,
): Promise<Pick<Scene, 'subjects' | 'removed' | 'point'>> {
  await install(build, env);
  const service = await startService(build, env, stops);
  await toItsEnd(build.run('promote', env));
  const source = await sourceOf(env);
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const after = Math.round(facts * shareAfter);
  const vault = createVault(readConfig(env).masterKey);
  const audience = await buildAudience(source, vault, facts + after + removals, receipts.urlOf);
  const [subjects, removed] = [audience.slice(0, facts + after), audience.slice(facts + after)];
  const author = factsAbout(subjects, { db, apiUrl: service.apiUrl, everyMs });
  const first = Math.round(facts * shareBeforeBackup);
  await author.commit(first);
  await Promise.all([
    author.commit(facts - first).then(() => progress(`${facts} facts are committed`)),
    backup.copy().then(() => progress(`Postgres is copied; facts ${author.committed} committed`)),
    sleep(Math.max(0, (facts - first) * everyMs - breaksDownBeforeMs)).then(() => {
      const [endpoint] = subjects[0]?.endpoints ?? [];
      if (endpoint !== undefined) receipts.breakDown(endpoint);
    }),
  ]);
  const point = await backup.point();
  const unfinished = await remainder(source);
  progress(
    `Postgres will be restored to ${point}; ${unfinished.facts} facts and ${unfinished.deliveries} deliveries are under way`,
  );
  await author.commit(after);
  await removeByApi(source, service.apiUrl, removed);
  await sleep(goesOnMs);
  await backup.archived();
  const unfinishedAtEnd = await remainder(source);
  progress(
    `${after} more facts are committed; ${unfinishedAtEnd.facts} facts and ${unfinishedAtEnd.deliveries} deliveries are under way`,
  );
  await source.destroy();
  await service.kill();
  await stack.kill('temporal');
  await stack.kill('postgres');
  progress('everything has ended');
  return { subjects: subjects.slice(0, facts), removed, point };
}

/** Follows docs/how-to/back-up-and-restore.md, and kills everything again at the end. */
async function comeBack(
  scene: Scene,
  way: WayBack,
): Promise<{ lostFacts: string[]; stuck: string[]; again: Removals }> {
  const { build, directory, stack, backup, env, receipts, subjects, removed, point, stops } = scene;
  await backup.restoreTo(point);
  progress(`Postgres is restored to the point, with ${waysBack[way]}`);
  if (way === 'empty')
    for await (const file of glob(path.join(directory, 'temporal', 'temporal.sqlite*'))) await rm(file);
  await repeated(() => stack.startAgain('temporal'));
  await install(build, env);
  const source = await sourceOf(env);
  const { temporal } = readConfig(env);
  const before = await remainder(source);
  const rowless = await runsWithoutRow(source, temporal);
  progress(
    `${before.facts} facts and ${before.deliveries} deliveries must continue; runs without a row: ${rowless.length}`,
  );
  const since = Date.now();
  const service = await startService(build, env, stops);
  await toItsEnd(build.run('promote', env));
  const again = await eraseAgain(source, { build, env, removed, point: isoOf(point) });
  progress(`${again.back} removed students were back, and ${again.remaining} remain after erase-again`);
  if (way === 'ahead') await letRunsLook(env);

  let stuck: string[] = [];
  const deadline = performance.now() + deadlineMs;
  for (let looks = 1; ; looks++) {
    const { facts, deliveries } = await remainder(source);
    stuck = [...(await rowsThatWait(source)), ...(await runsWithoutRow(source, temporal))];
    if (deliveries > 0) stuck.push(`${deliveries} deliveries are pending`);
    if (facts + stuck.length === 0) break;
    if (performance.now() > deadline) {
      progress('the time is over');
      break;
    }
    if (looks % 20 === 0) progress(`${facts} facts, ${deliveries} deliveries, and ${stuck.length} lines that wait`);
    await sleep(lookEveryMs);
  }
  progress(`all work ended ${((Date.now() - since) / 1_000).toFixed(0)} s after the start`);
  /** Tells whether the endpoint accepted the event before the restored point, or again after the restore. */
  const has: Receipts['has'] = (endpointId, eventId) =>
    receipts.acceptedAt(endpointId, eventId).some((at) => at <= Date.parse(isoOf(point)) || at >= since);
  const { facts, lostFacts } = await tallyDeliveries(source, subjects, { has });
  const expectedFacts = subjects.length + again.back - again.remaining; // erase-again commits one for each student
  if (facts !== expectedFacts) lostFacts.push(`Postgres has ${facts} facts, but ${expectedFacts} were expected`);
  await source.destroy();
  await service.kill();
  await stack.kill('temporal');
  await stack.kill('postgres');
  return { lostFacts, stuck, again };
}

/** Runs the command from the how-to page. A run without a row could otherwise wait for weeks. */
async function letRunsLook(env: Environment): Promise<void> {
  const temporal = await locate(components.temporal, { report: progress });
  const query = ['--query', 'ExecutionStatus = "Running"', '--reason', 'Postgres was restored', '--yes'];
  await runCommand(temporal, ['workflow', 'signal', '--name', 'lookAgain', '--rps', '50', ...query], { env });
  progress('all runs have been signaled to read their rows again');
}

const isoOf = (point: string) => point.replace(' ', 'T').replace(/\+00$/, 'Z');

async function install(build: InstalledBuild, env: Environment): Promise<void> {
  for (const command of ['migrate', 'setup']) await toItsEnd(build.run(command, env));
}

const sourceOf = (env: Environment): Promise<DataSource> =>
  createDataSource(readConfig(env).database, 'club-faults').initialize();
