/**
 * `npm run prove -- faults webhooks` commits facts at a steady pace, while the proof kills and restarts the worker, the API, Temporal and
 * Postgres. At each kill Temporal also loses a third of its open runs. No fact may be lost. A kill may cause duplicates, but not more than
 * the attempts that a worker makes at the same time. The workers get `WEBHOOK_FIRST_ATTEMPT` and `WEBHOOK_DIRECT_ATTEMPTS` from the
 * environment. `--rounds 1` makes a shorter run.
 */
import { Database } from '../../../platform/infra/postgres/database.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../../config.ts';
import { messageOf, Problem } from '../../../dev/problem.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { permitsPerHost } from '../../../worker/lanes/attempt-permits.ts';
import { buildAudience, type Subject } from './audience.ts';
import { factsAbout, type Author } from './facts.ts';
import { forgetfulEngine, type Forgetful } from './forgetting.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { startCounting, type Receipts } from './receipts.ts';
import { countRescues, type Rescues } from './rescues.ts';
import { interruptedAttempts, remainder, throttledEndpoints, tallyDeliveries, type DeliveryTally } from './tally.ts';
import { onGround, victims, type Ground, type Victim } from './victims.ts';

/** A shorter run commits proportionally fewer facts. */
const usualFacts = 2_000;
const usualRounds = 3;
/**
 * In each round, the proof kills each process this many times. At the second kill, the restarted process handles the work that waited, so
 * most work is in progress.
 */
const killsInARow = 2;
/**
 * The pause between two facts. 12 facts a second make 17 deliveries. The engine can deliver six times as many, so a machine with two cores
 * can also do the restarts.
 */
const everyMs = 85;
const passedOn = ['WEBHOOK_FIRST_ATTEMPT', 'WEBHOOK_DIRECT_ATTEMPTS'];
/**
 * If one of these processes is killed, attempts may have sent a request without recording the result. There are at most as many such
 * attempts as a worker makes at the same time for one host.
 */
const cuttingOff: readonly Victim[] = ['worker', 'Postgres'];
/** The delay of the first kill, the delay of the second kill after the recovery, and the time between a kill and the restart. */
const killedAfterMs = { least: 1_000, most: 3_000 };
const againAfterMs = { least: 0, most: 300 };
const deadForMs = { least: 0, most: 2_000 };
/**
 * The time limit for the last delivery after the last kill. A failed attempt waits half a minute. The sweeper needs three minutes, or
 * six minutes if its worker was killed. The rest of the limit is for slow machines.
 */
const deadlineMs = 10 * 60_000;
/**
 * The number of endpoints that break down at the beginning, so that their breakers hold deliveries back. Later breakdowns would prolong the
 * run.
 */
const breakdowns = 2;
const progressEveryMs = 5_000;
/** The interval at which the proof checks whether all work has ended, and the number of checks between two lines of progress. */
const [lookEveryMs, looksALine] = [500, 10];
/** If no delivery follows a restart within this time, the proof reports that it saw no recovery. */
const flowingWithinMs = 30_000;

interface Scene {
  ground: Ground;
  /** How workers make first attempts: in workflows or directly. */
  lane: string;
  rounds: number;
  facts: number;
  source: DataSource;
  subjects: readonly Subject[];
  author: Author;
  receipts: Receipts;
  engine: Forgetful;
  rescues: Rescues;
}

/** In seconds since the kill. */
interface Recovery {
  victim: Victim;
  ready: number;
  /** The time until the first delivery or API answer after the restart. */
  flowing: number | undefined;
}

/** @returns the exit code */
export async function webhookFaults(interrupted: Promise<unknown>, args: readonly string[]): Promise<number> {
  const rounds = roundsIn(args);
  const facts = Math.ceil((usualFacts * rounds) / usualRounds);
  const work = async (ground: Ground) => {
    const config = readConfig(ground.env);
    const { firstAttempt, directAttempts } = config.worker.webhooks;
    const lane = firstAttempt === 'direct' ? `direct with ${directAttempts} slots` : firstAttempt;
    progress(`lane of first attempts: ${lane}`);
    const source = await createDataSource(config.database, 'club-faults').initialize();
    const db = new Database(
      source,
      createNotifier(source, () => {}),
    );
    const receipts = await startCounting(await ground.stack.authority.issue(['127.0.0.1']));
    const subjects = await buildAudience(source, createVault(config.masterKey), facts, receipts.urlOf);
    const author = factsAbout(subjects, { db, apiUrl: ground.urls.API, everyMs });
    const engine = await forgetfulEngine(config.temporal, ['webhookDelivery', 'endpointGate']);
    const rescues = countRescues(ground.urls.worker);
    const scene: Scene = { ground, lane, rounds, facts, source, subjects, author, receipts, engine, rescues };
    const throttled = new Set<Id>();
    const reporting = setInterval(() => {
      progress(standing(scene));
      throttledEndpoints(source).then(
        (ids) => ids.forEach((id) => throttled.add(id)),
        () => undefined, // Postgres is dead
      );
    }, progressEveryMs);

    const beganAt = elapsedSeconds();
    const recoveries = await killInTurn(scene);
    const killedUntil = elapsedSeconds();
    clearInterval(reporting);
    progress('all processes run again; waiting for the last deliveries');
    await untilAllHaveEnded(scene);
    const endedAt = elapsedSeconds();
    rescues.stop();
    await rescues.beforeKill();

    const result = await tallyDeliveries(source, subjects, receipts);
    const cutOff = await interruptedAttempts(source);
    await Promise.all([engine.close(), receipts.stop(), source.destroy()]);
    const mostDuplicates = recoveries.filter(({ victim }) => cuttingOff.includes(victim)).length * permitsPerHost;
    report(scene, recoveries, result, mostDuplicates, {
      killing: killedUntil - beganAt,
      waiting: endedAt - killedUntil,
      interrupted: cutOff,
      throttled: throttled.size,
    });
    return result.lostFacts.length === 0 && receipts.duplicates <= mostDuplicates ? 0 : 1;
  };
  const settings = Object.fromEntries(passedOn.map((name) => [name, process.env[name] ?? '']));
  return (await onGround(interrupted, work, settings)) ?? 130;
}

function roundsIn(args: readonly string[]): number {
  const usage = 'Usage: npm run prove -- faults webhooks [--rounds N], where N is a whole number, for example 1.';
  let rounds: number;
  try {
    rounds = Number(
      parseArgs({ args: [...args], options: { rounds: { type: 'string' } } }).values.rounds ?? usualRounds,
    );
  } catch (error) {
    throw new Problem(`${messageOf(error).split('. ')[0]}. ${usage}`);
  }
  if (!Number.isInteger(rounds) || rounds < 1) throw new Problem(usage);
  return rounds;
}

async function killInTurn(scene: Scene): Promise<Recovery[]> {
  const recoveries: Recovery[] = [];
  const endpoints = new Set(scene.subjects.flatMap((subject) => subject.endpoints));
  for (const endpointId of [...endpoints].slice(0, breakdowns)) scene.receipts.breakDown(endpointId);
  const share = Math.ceil(scene.facts / (scene.rounds * victims.length));
  for (let round = 1; round <= scene.rounds; round++) {
    for (const victim of victims) {
      const next = Math.min(share, scene.facts - scene.author.committed);
      const [own] = await Promise.all([killInARow(scene, victim, round), scene.author.commit(next)]);
      recoveries.push(...own);
    }
  }
  return recoveries;
}

async function killInARow(scene: Scene, victim: Victim, round: number): Promise<Recovery[]> {
  const recoveries: Recovery[] = [];
  await sleep(between(killedAfterMs));
  for (let kill = 1; kill <= killsInARow; kill++) {
    recoveries.push(await killOne(scene, victim, round));
    await sleep(between(againAfterMs));
  }
  return recoveries;
}

async function killOne(scene: Scene, victim: Victim, round: number): Promise<Recovery> {
  const { ground, rescues } = scene;
  if (victim === 'worker') await rescues.beforeKill();
  const killedAt = elapsedSeconds();
  await ground.kill(victim);
  progress(`killed ${victim} (round ${round})`);
  // Temporal also loses runs that were active at the kill.
  if (victim !== 'Temporal') await forget(scene);
  await sleep(between(deadForMs));
  const before = passed(scene, victim);
  await ground.startAgain(victim);
  const ready = elapsedSeconds() - killedAt;
  const forgetting = victim === 'Temporal' ? forget(scene) : undefined;
  const [flowing] = await Promise.all([untilFlowing(scene, victim, before, killedAt), forgetting]);
  const again =
    flowing === undefined ? 'nothing has come through it since' : `works again after ${flowing.toFixed(1)} s`;
  progress(`${victim} is ready after ${ready.toFixed(1)} s, ${again}`);
  return { victim, ready, flowing };
}

async function forget({ engine }: Scene): Promise<void> {
  progress(`Temporal forgets ${await engine.forgetThird()} runs`);
}

function passed({ author, receipts }: Scene, victim: Victim): number {
  return victim === 'API' ? author.throughApi : receipts.accepted;
}

async function untilFlowing(
  scene: Scene,
  victim: Victim,
  before: number,
  killedAt: number,
): Promise<number | undefined> {
  const deadline = performance.now() + flowingWithinMs;
  while (passed(scene, victim) === before) {
    if (performance.now() > deadline) return undefined;
    await sleep(25);
  }
  return elapsedSeconds() - killedAt;
}

/** Returns when all work has ended, or at the time limit. The final check reports unfinished work. */
async function untilAllHaveEnded(scene: Scene): Promise<void> {
  const { source, rescues } = scene;
  const deadline = performance.now() + deadlineMs;
  for (let looks = 0; performance.now() < deadline; looks++) {
    const remaining = await remainder(source);
    if (remaining.facts + remaining.deliveries === 0) return;
    if (looks % looksALine === 0) {
      progress(
        `${standing(scene)}; ${remaining.facts} facts wait, ${remaining.deliveries} deliveries pending, ${rescues.total} rescued so far`,
      );
    }
    await sleep(lookEveryMs);
  }
  progress('the time is over');
}

function standing({ author, receipts }: Scene): string {
  return `facts ${author.committed} committed, ${receipts.events} received`;
}

function report(
  { ground, lane, author, receipts, engine, rescues }: Scene,
  recoveries: readonly Recovery[],
  { facts: committed, received, lostFacts }: DeliveryTally,
  mostDuplicates: number,
  { killing, waiting, interrupted, throttled }: Record<'killing' | 'waiting' | 'interrupted' | 'throttled', number>,
): void {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  for (const victim of victims) {
    const own = recoveries.filter((recovery) => recovery.victim === victim);
    const ready = own.map((recovery) => recovery.ready.toFixed(1)).join(', ');
    const flowing = own.map((recovery) => recovery.flowing?.toFixed(1) ?? '–').join(', ');
    print(`${victim} killed ${own.length} times: ready after ${ready} s, works again after ${flowing} s`);
  }
  print(`${author.throughApi} facts through the API; ${author.repeated} calls and transactions repeated`);
  print(`${receipts.refused} requests refused, ${throttled} endpoints throttled; ${interrupted} attempts interrupted`);
  print(`${engine.forgotten} runs forgotten, ${rescues.total} rescued`);
  print(`processes that ended by themselves: ${ground.endedByItself}`);
  print(`${killing.toFixed(0)} s of kills, ${waiting.toFixed(0)} s until the last delivery`);
  for (const line of lostFacts) print(`lost: ${line}`);
  print(`lane ${lane}; at most ${mostDuplicates} duplicates`);
  print(`facts ${committed}, received ${received}, lost ${lostFacts.length}, duplicates ${receipts.duplicates}`);
}
