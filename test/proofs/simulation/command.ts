/** The command itself: reads its arguments, plays schedules, and prints the first that breaks an invariant, made shorter. */
import { parseArgs } from 'node:util';
import { messageOf, Problem, say } from '../../../dev/problem.ts';
import { readConfig } from '../../../config.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { openStand, shorten, type Played, type Schedule, type Stand } from './playing.ts';
import type { RemovedRule } from './removed-rules.ts';
import { engines, type Engine } from './scenarios/index.ts';

const usage = `npm run prove -- simulate [--seed N] [--engine ${engines.join(' | ')}] [--schedules N] [--commands N] [--paced] [--processes N] [--keep-going]`;
const usualSchedules = 1_000;
/** Steps that are shown of the schedule as it was: making it shorter takes a while. */
const unshortened = 40;
const usualCommands = 14;
const shownOfFinding = 200;
const shownOfTrace = 400;

interface Wanted {
  /** The rule that the run does without. */
  without?: RemovedRule;
  seed: number;
  engines: readonly Engine[];
  schedules: number;
  /** Of each schedule, at most. */
  commands: number;
  /** All schedules are paced (playing.ts); otherwise every other one of an engine is. */
  isPaced: boolean;
  /** Among so many processes the schedules are divided. */
  processes: number;
  /** Which of them this one is, from 0; undefined for the one that starts them. */
  part?: number;
  /** What breaks is not made shorter, and ends nothing. */
  keepsGoing: boolean;
}

/** What a process says of its schedules to the one that started it, one at a time. */
export interface PlayedSchedule {
  steps: number;
  broken: boolean;
}

/** @throws Problem naming what is not understood, and what there is */
export function simulationArguments(args: readonly string[]): Wanted {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({
      args: [...args],
      options: {
        seed: text,
        engine: text,
        schedules: text,
        commands: text,
        paced: { type: 'boolean' },
        processes: text,
        part: text,
        'keep-going': { type: 'boolean' },
      },
    });
    const engine = engines.find((one) => one === values.engine);
    if (values.engine !== undefined && engine === undefined) throw new Error(`There is no engine ${values.engine}.`);
    return {
      seed: wholeNumber('--seed', values.seed, Math.floor(Math.random() * 2 ** 31)),
      engines: engine ? [engine] : engines,
      schedules: wholeNumber('--schedules', values.schedules, usualSchedules),
      commands: wholeNumber('--commands', values.commands, usualCommands),
      isPaced: values.paced ?? false,
      processes: Math.max(1, wholeNumber('--processes', values.processes, 1)),
      ...(values.part !== undefined && { part: wholeNumber('--part', values.part, 0) }),
      keepsGoing: values['keep-going'] ?? false,
    };
  } catch (error) {
    throw new Problem(`${messageOf(error)}\nThere is:\n${usage}`);
  }
}

function wholeNumber(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^\d{1,10}$/.test(text)) throw new Error(`${name} takes a whole number, not ${text}.`);
  return Number(text);
}

/** @returns the schedules of a wish, or of its part: each has a seed of its own, and the engines take turns */
export function schedulesOf({
  seed,
  engines: wanted,
  schedules,
  commands,
  isPaced = false,
  processes,
  part = 0,
}: Pick<Wanted, 'seed' | 'engines' | 'schedules' | 'commands'> &
  Partial<Pick<Wanted, 'isPaced' | 'processes' | 'part'>>): Schedule[] {
  const all = Array.from({ length: schedules }, (_, place): Schedule => {
    const turn = Math.floor(place / wanted.length);
    const engine = wanted[place % wanted.length] ?? 'webhooks';
    return { engine, seed: seed + place, commands, ...((isPaced || turn % 2 === 1) && { paced: true }) };
  });
  if (processes === undefined) return all;
  return all.filter((_, place) => Math.floor(place / wanted.length) % processes === part);
}

/** @returns the exit code: 0 where every invariant held */
export async function simulate(wanted: Wanted): Promise<number> {
  const { database, masterKey } = readConfig();
  const stand = await openStand(database.url.reveal(), createVault(masterKey), wanted.without?.sql);
  const count = new Count();
  try {
    for (const schedule of schedulesOf(wanted)) {
      const played = await stand.play(schedule);
      const spoken = { steps: played.steps, broken: played.broken !== undefined };
      count.add(spoken);
      process.send?.(spoken);
      if (!played.broken) continue;
      if (wanted.without)
        say(
          `without ${wanted.without.rule}: found by schedule ${count.schedules}: ${played.broken.details.slice(0, shownOfFinding)}`,
        );
      else await sayBroken(stand, schedule, played, wanted.keepsGoing);
      if (!wanted.keepsGoing) break;
    }
  } finally {
    await stand.close();
  }
  if (wanted.part === undefined) count.say();
  return count.exitCode;
}

/** The closing line. */
export class Count {
  schedules = 0;
  #steps = 0;
  #broken = 0;

  add({ steps, broken }: PlayedSchedule): void {
    this.schedules++;
    this.#steps += steps;
    if (broken) this.#broken++;
  }

  say(): void {
    say(`schedules ${this.schedules}, steps ${this.#steps}, invariants broken ${this.#broken}`);
  }

  get exitCode(): number {
    return this.#broken > 0 ? 1 : 0;
  }
}

/** The command that plays it again. */
export function replayOf({ engine, seed, commands, paced }: Schedule): string {
  return `npm run prove -- simulate --engine ${engine} --seed ${seed} --schedules 1 --commands ${commands}${paced ? ' --paced' : ''}`;
}

async function sayBroken(stand: Stand, schedule: Schedule, failed: Played, asItIs: boolean): Promise<void> {
  say(`${replayOf(schedule)} broke: ${failed.broken?.details}`);
  for (const line of failed.trace.slice(-unshortened)) say(`  ${line}`);
  if (asItIs) return;
  const { schedule: shorter, played } = await shorten(stand, schedule, failed);
  say(`\nMade shorter, with its last ${shownOfTrace} steps:`);
  for (const line of played.trace.slice(-shownOfTrace)) say(`  ${line}`);
  say(`  broken: ${played.broken?.details}`);
  say(`\nFor test/proofs/simulation/regressions.json: ${JSON.stringify(shorter)}`);
}
