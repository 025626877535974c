/** Plays schedules one after another, and shortens failed schedules. */
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { Decisions } from './decisions.ts';
import { SimulatedPostgres } from './postgres.ts';
import { scenarios, type Engine } from './scenarios/index.ts';
import { Simulation } from './simulation.ts';
import { beginning, BrokenInvariant } from './stage.ts';
import { VirtualTime } from './simulated-process.ts';
import { simulatedWorkflows } from './temporal/module-hooks.ts';

/** Equal schedules lead to equal traces. */
export interface Schedule {
  engine: Engine;
  seed: number;
  commands: number;
  /**
   * In a paced schedule each command runs after the earlier work is done, and time passes between commands. In other schedules commands
   * run close together.
   */
  paced?: true;
  decisions?: readonly number[];
}

export interface Played {
  steps: number;
  trace: readonly string[];
  decisions: readonly number[];
  broken?: { invariant: string; details: string };
}

export interface Stand {
  play(schedule: Schedule): Promise<Played>;
  close(): Promise<void>;
}

/**
 * @param url the URL of a migrated database that only the schedules use
 * @param change a change of the database before the first schedule
 */
export async function openStand(url: string, vault: Vault, change?: string): Promise<Stand> {
  const workflows = await simulatedWorkflows();
  const postgres = await SimulatedPostgres.open(url);
  if (change !== undefined) await postgres.ask(change);
  const time = new VirtualTime(beginning);
  const restore = time.install();
  return {
    async play({ engine, seed, commands, paced: isPaced = false, decisions: givenDecisions }) {
      await postgres.empty();
      const decisions = givenDecisions ? Decisions.fromList(givenDecisions, seed) : Decisions.fromSeed(seed);
      time.begin(beginning, () => decisions.fraction());
      await postgres.setClock(beginning); // the database still has the clock of the previous schedule
      const sim = new Simulation({ time, postgres, decisions, isPaced }, workflows);
      try {
        await sim.play(await scenarios[engine](sim, { vault }), commands);
      } catch (error) {
        const broken =
          error instanceof BrokenInvariant
            ? { invariant: error.invariant, details: error.message }
            : {
                invariant: 'no unexpected error',
                details: error instanceof Error ? (error.stack ?? error.message) : String(error),
              };
        return { steps: sim.steps, trace: sim.trace, decisions: decisions.choices, broken };
      } finally {
        await sim.end();
      }
      return { steps: sim.steps, trace: sim.trace, decisions: decisions.choices };
    },
    async close() {
      restore();
      await postgres.close();
    },
  };
}

const maxTries = 200;

export async function shorten(
  stand: Stand,
  schedule: Schedule,
  failed: Played,
): Promise<{ schedule: Schedule; played: Played }> {
  let best = { schedule: { ...schedule, decisions: failed.decisions }, played: failed };
  let tries = 0;
  const attempt = async (decisions: readonly number[]) => {
    if (tries++ >= maxTries) return false;
    const played = await stand.play({ ...schedule, decisions });
    if (played.broken?.invariant !== failed.broken?.invariant) return false;
    best = { schedule: { ...schedule, decisions: withoutZeros(decisions) }, played };
    return true;
  };
  for (let cutLength = Math.floor(failed.decisions.length / 2); cutLength >= 1; cutLength = Math.floor(cutLength / 2)) {
    while (best.schedule.decisions.length > cutLength && (await attempt(best.schedule.decisions.slice(0, -cutLength))));
  }
  for (
    let size = Math.ceil(best.schedule.decisions.length / 2);
    size >= 1 && tries < maxTries;
    size = Math.floor(size / 2)
  ) {
    for (let from = 0; from < best.schedule.decisions.length && tries < maxTries; from += size) {
      const decisions = best.schedule.decisions;
      if (decisions.slice(from, from + size).every((one) => one === 0)) continue;
      await attempt(decisions.map((one, position) => (position >= from && position < from + size ? 0 : one)));
    }
  }
  return best;
}

function withoutZeros(decisions: readonly number[]): number[] {
  const last = decisions.findLastIndex((one) => one !== 0);
  return decisions.slice(0, last + 1);
}
