/**
 * The command of the simulation: it reads its arguments, plays schedules, and shortens and prints the first schedule that breaks an
 * invariant.
 */
import { parseArgs } from 'node:util';
import { messageOf, Problem, say } from '../../../dev/problem.ts';
import { readConfig } from '../../../config.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { openStand, shorten, type Played, type Schedule, type Stand } from './playing.ts';
import type { RemovedRule } from './removed-rules.ts';
import { engines, type Engine } from './scenarios/index.ts';

const usage = `npm run prove -- simulate [--seed N] [--engine ${engines.join(' | ')}] [--schedules N] [--commands N] [--paced] [--processes N] [--keep-going]`;
const usualSchedules = 1_000;
/** The command prints this number of steps of the original schedule first, because shortening the schedule takes a while. */
const unshortened = 40;
const usualCommands = 14;
const shownOfFinding = 200;
const shownOfTrace = 400;

interface SimulationOptions {
  without?: RemovedRule;
  seed: number;
  engines: readonly Engine[];
  schedules: number;
  commands: number;
  /** Whether all schedules are paced (see playing.ts). Otherwise every second schedule of an engine is paced. */
  isPaced: boolean;
  processes: number;
  /** The number of this process, from 0; undefined in the process that starts the others. */
  part?: number;
  /** Continues after a broken invariant, without shortening the schedule. */
  keepsGoing: boolean;
}

export interface PlayedSchedule {
  steps: number;
  broken: boolean;
}

export function simulationArguments(args: readonly string[]): SimulationOptions {
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
    if (values.engine !== undefined && engine === undefined) throw new Error(`No engine has the name ${values.engine}`);
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
    throw new Problem(`${messageOf(error)}\nUsage:\n${usage}`);
  }
}

function wholeNumber(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^\d{1,10}$/.test(text)) throw new Error(`${name} takes a whole number, not ${text}.`);
  return Number(text);
}

/** Gives each schedule its own seed, and alternates the engines. */
export function schedulesOf({
  seed,
  engines: chosenEngines,
  schedules,
  commands,
  isPaced = false,
  processes,
  part = 0,
}: Pick<SimulationOptions, 'seed' | 'engines' | 'schedules' | 'commands'> &
  Partial<Pick<SimulationOptions, 'isPaced' | 'processes' | 'part'>>): Schedule[] {
  const all = Array.from({ length: schedules }, (_, position): Schedule => {
    const round = Math.floor(position / chosenEngines.length);
    const engine = chosenEngines[position % chosenEngines.length] ?? 'webhooks';
    return { engine, seed: seed + position, commands, ...((isPaced || round % 2 === 1) && { paced: true }) };
  });
  if (processes === undefined) return all;
  return all.filter((_, place) => Math.floor(place / chosenEngines.length) % processes === part);
}

/** @returns the exit code */
export async function simulate(options: SimulationOptions): Promise<number> {
  const { database, masterKey } = readConfig();
  const stand = await openStand(database.url.reveal(), createVault(masterKey), options.without?.sql);
  const count = new Count();
  try {
    for (const schedule of schedulesOf(options)) {
      const played = await stand.play(schedule);
      const result = { steps: played.steps, broken: played.broken !== undefined };
      count.add(result);
      process.send?.(result);
      if (!played.broken) continue;
      if (options.without)
        say(
          `without ${options.without.rule}: found by schedule ${count.schedules}: ${played.broken.details.slice(0, shownOfFinding)}`,
        );
      else await sayBroken(stand, schedule, played, options.keepsGoing);
      if (!options.keepsGoing) break;
    }
  } finally {
    await stand.close();
  }
  if (options.part === undefined) count.say();
  return count.exitCode;
}

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

export function replayOf({ engine, seed, commands, paced }: Schedule): string {
  return `npm run prove -- simulate --engine ${engine} --seed ${seed} --schedules 1 --commands ${commands}${paced ? ' --paced' : ''}`;
}

async function sayBroken(stand: Stand, schedule: Schedule, failed: Played, keepsLength: boolean): Promise<void> {
  say(`${replayOf(schedule)} broke: ${failed.broken?.details}`);
  for (const line of failed.trace.slice(-unshortened)) say(`  ${line}`);
  if (keepsLength) return;
  const { schedule: shorter, played } = await shorten(stand, schedule, failed);
  say(`\nThe shortened schedule, with its last ${shownOfTrace} steps:`);
  for (const line of played.trace.slice(-shownOfTrace)) say(`  ${line}`);
  say(`  broken: ${played.broken?.details}`);
  say(`\nFor test/proofs/simulation/regressions.json: ${JSON.stringify(shorter)}`);
}
