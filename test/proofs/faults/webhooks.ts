/**
 * `npm run prove -- faults webhooks`: facts are committed at a steady pace while the worker, the API, Temporal and Postgres are
 * killed and started again in turn, and Temporal forgets a third of its open runs each time. Nothing may be lost, and a kill may
 * cost no more duplicates than a worker makes attempts at once. `WEBHOOK_FIRST_ATTEMPT` and `WEBHOOK_DIRECT_ATTEMPTS` are passed on
 * to the workers; `--rounds 1` makes a shorter run.
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

/** In the usual number of rounds; with fewer, as many fewer. */
const usualFacts = 2_000;
const usualRounds = 3;
/** The second kill comes as soon as what gathered during the first has begun to flow: then most is under way. */
const killsInARow = 2;
/** 12 a second, some 17 deliveries: a sixth of what the engine does, so that two cores have room for starting what was killed. */
const everyMs = 85;
/** Settings of the workers that whoever runs this may choose. */
const passedOn = ['WEBHOOK_FIRST_ATTEMPT', 'WEBHOOK_DIRECT_ATTEMPTS'];
/** Their death can cut attempts off between post and record: as many as a worker makes at once, as all receivers are of one host. */
const cuttingOff: readonly Victim[] = ['worker', 'Postgres'];
/** How far into its share a victim is killed; how soon again, once it is of use; and how long it stays dead. */
const killedAfterMs = { least: 1_000, most: 3_000 };
const againAfterMs = { least: 0, most: 300 };
const deadForMs = { least: 0, most: 2_000 };
/**
 * How long the last delivery may take after the last kill: an attempt's wait of half a minute, the sweeper's three minutes,
 * and its round once more if it was killed itself; the rest is for slow machines.
 */
const deadlineMs = 10 * 60_000;
/** Endpoints that break down at the beginning, and whose breaker then holds back what comes; later it would prolong the run. */
const breakdowns = 2;
const progressEveryMs = 5_000;
/** How often it is looked whether all has ended; and every how many looks that is told. */
const [lookEveryMs, looksALine] = [500, 10];
/** After which a recovery without any delivery counts as one that nobody saw. */
const flowingWithinMs = 30_000;

interface Scene {
  ground: Ground;
  /** Who makes first attempts. */
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

/** How long a killed part was away. Seconds since the kill. */
interface Recovery {
  victim: Victim;
  ready: number;
  /** Until something came through it again: a delivery, or an answer of the API. */
  flowing: number | undefined;
}

/** @returns the exit code: 0 when nothing was lost, and no more came twice than kills explain */
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
    progress('everything is up again; waiting for the last deliveries');
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
    return result.lost.length === 0 && receipts.duplicates <= mostDuplicates ? 0 : 1;
  };
  const settings = Object.fromEntries(passedOn.map((name) => [name, process.env[name] ?? '']));
  return (await onGround(interrupted, work, settings)) ?? 130;
}

/** @throws Problem for anything but `--rounds` and a number */
function roundsIn(args: readonly string[]): number {
  const usage =
    'There is: npm run prove -- faults webhooks, and npm run prove -- faults webhooks --rounds 1 (a whole number).';
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

/** Several rounds of all victims. @returns how each came back, in order */
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
  // The runs that were at work just now are among those that it forgets.
  if (victim !== 'Temporal') await forget(scene);
  await sleep(between(deadForMs));
  const before = passed(scene, victim);
  await ground.startAgain(victim);
  const ready = elapsedSeconds() - killedAt;
  const forgetting = victim === 'Temporal' ? forget(scene) : undefined;
  const [flowing] = await Promise.all([untilFlowing(scene, victim, before, killedAt), forgetting]);
  const again = flowing === undefined ? 'nothing has come through it since' : `of use after ${flowing.toFixed(1)} s`;
  progress(`${victim} is ready after ${ready.toFixed(1)} s, ${again}`);
  return { victim, ready, flowing };
}

async function forget({ engine }: Scene): Promise<void> {
  progress(`Temporal forgets ${await engine.forgetThird()} runs`);
}

/** How much has come through this part so far. */
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

/** Or until the time is over: then the tally says what has not. */
async function untilAllHaveEnded(scene: Scene): Promise<void> {
  const { source, rescues } = scene;
  const deadline = performance.now() + deadlineMs;
  for (let looks = 0; performance.now() < deadline; looks++) {
    const left = await remainder(source);
    if (left.facts + left.deliveries === 0) return;
    if (looks % looksALine === 0) {
      progress(
        `${standing(scene)}; ${left.facts} to tell, ${left.deliveries} deliveries pending, ${rescues.total} rescued so far`,
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
  { facts: committed, received, lost }: DeliveryTally,
  mostDuplicates: number,
  { killing, waiting, interrupted, throttled }: Record<'killing' | 'waiting' | 'interrupted' | 'throttled', number>,
): void {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  for (const victim of victims) {
    const own = recoveries.filter((recovery) => recovery.victim === victim);
    const ready = own.map((recovery) => recovery.ready.toFixed(1)).join(', ');
    const flowing = own.map((recovery) => recovery.flowing?.toFixed(1) ?? '–').join(', ');
    print(`${victim} killed ${own.length} times: ready after ${ready} s, of use after ${flowing} s`);
  }
  print(`${author.throughApi} facts through the API; ${author.repeated} calls and transactions repeated`);
  print(`${receipts.refused} requests refused, ${throttled} endpoints throttled; ${interrupted} attempts interrupted`);
  print(`${engine.forgotten} runs forgotten, ${rescues.total} rescued`);
  print(`processes that ended by themselves: ${ground.endedByItself}`);
  print(`${killing.toFixed(0)} s of kills, ${waiting.toFixed(0)} s until the last delivery`);
  for (const line of lost) print(`lost: ${line}`);
  print(`lane ${lane}; at most ${mostDuplicates} duplicates`);
  print(`facts ${committed}, received ${received}, lost ${lost.length}, duplicates ${receipts.duplicates}`);
}
