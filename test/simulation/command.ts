/** The command itself: reads its arguments, plays schedules, and prints the first that breaks an invariant, made shorter. */
import { parseArgs } from 'node:util';
import { messageOf, Problem, say } from '../../dev/problem.ts';
import { readConfig } from '../../config.ts';
import { createVault } from '../../platform/infra/vault.ts';
import { openStand, shorten, type Played, type Schedule, type Stand } from './playing.ts';
import type { RemovedRule } from './removed-rules.ts';
import { engines, type Engine } from './scenarios/index.ts';

const usage = `npm run simulate -- [--seed N] [--engine ${engines.join(' | ')}] [--schedules N] [--commands N]`;
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
}

/** @throws Problem naming what is not understood, and what there is */
export function simulationArguments(args: readonly string[]): Wanted {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({
      args: [...args],
      options: { seed: text, engine: text, schedules: text, commands: text },
    });
    const engine = engines.find((one) => one === values.engine);
    if (values.engine !== undefined && engine === undefined) throw new Error(`There is no engine ${values.engine}.`);
    return {
      seed: wholeNumber('--seed', values.seed, Math.floor(Math.random() * 2 ** 31)),
      engines: engine ? [engine] : engines,
      schedules: wholeNumber('--schedules', values.schedules, usualSchedules),
      commands: wholeNumber('--commands', values.commands, usualCommands),
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

/** @returns the schedules of a wish: each has a seed of its own, and the engines take turns */
export function schedulesOf({ seed, engines: wanted, schedules, commands }: Wanted): Schedule[] {
  return Array.from({ length: schedules }, (_, place) => ({
    engine: wanted[place % wanted.length] ?? 'webhooks',
    seed: seed + place,
    commands,
  }));
}

/** @returns the exit code: 0 where every invariant held */
export async function simulate(wanted: Wanted): Promise<number> {
  const { database, masterKey } = readConfig();
  const stand = await openStand(database.url.reveal(), createVault(masterKey), wanted.without?.sql);
  let steps = 0;
  let schedules = 0;
  try {
    for (const schedule of schedulesOf(wanted)) {
      const played = await stand.play(schedule);
      schedules++;
      steps += played.steps;
      if (!played.broken) continue;
      if (wanted.without)
        say(
          `without ${wanted.without.rule}: found by schedule ${schedules}: ${played.broken.details.slice(0, shownOfFinding)}`,
        );
      else await sayBroken(stand, schedule, played);
      say(`schedules ${schedules}, steps ${steps}, invariants broken 1`);
      return 1;
    }
  } finally {
    await stand.close();
  }
  say(`schedules ${schedules}, steps ${steps}, invariants broken 0`);
  return 0;
}

async function sayBroken(stand: Stand, schedule: Schedule, failed: Played): Promise<void> {
  say(
    `--engine ${schedule.engine} --seed ${schedule.seed} --commands ${schedule.commands} --schedules 1 broke: ${failed.broken?.details}`,
  );
  for (const line of failed.trace.slice(-unshortened)) say(`  ${line}`);
  const { schedule: shorter, played } = await shorten(stand, schedule, failed);
  say(`\nMade shorter, with its last ${shownOfTrace} steps:`);
  for (const line of played.trace.slice(-shownOfTrace)) say(`  ${line}`);
  say(`  broken: ${played.broken?.details}`);
  say(`\nFor test/simulation/regressions.json: ${JSON.stringify(shorter)}`);
}
