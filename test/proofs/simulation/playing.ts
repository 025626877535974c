/** Plays schedules, one after another, and makes failing ones shorter. */
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { Decisions } from './decisions.ts';
import { SimulatedPostgres } from './postgres.ts';
import { scenarios, type Engine } from './scenarios/index.ts';
import { Simulation } from './simulation.ts';
import { beginning, BrokenInvariant } from './stage.ts';
import { VirtualTime } from './simulated-process.ts';
import { simulatedWorkflows } from './temporal/module-hooks.ts';

/** A schedule: the same one gives the same trace. */
export interface Schedule {
  engine: Engine;
  seed: number;
  /** Commands at most. */
  commands: number;
  /** Commands come once the others have done what they can, and time passes between them; otherwise they come close together. */
  paced?: true;
  /** In place of what the seed would decide. */
  decisions?: readonly number[];
}

export interface Played {
  steps: number;
  trace: readonly string[];
  decisions: readonly number[];
  /** The invariant that did not hold, or the error that nothing expected. */
  broken?: { invariant: string; details: string };
}

export interface Stand {
  play(schedule: Schedule): Promise<Played>;
  close(): Promise<void>;
}

/**
 * @param url of a migrated database that the schedules have to themselves
 * @param change of the database, before the first schedule
 */
export async function openStand(url: string, vault: Vault, change?: string): Promise<Stand> {
  const workflows = await simulatedWorkflows();
  const postgres = await SimulatedPostgres.open(url);
  if (change !== undefined) await postgres.ask(change);
  const time = new VirtualTime(beginning);
  const restore = time.install();
  return {
    async play({ engine, seed, commands, paced: isPaced = false, decisions: given }) {
      await postgres.empty();
      const decisions = given ? Decisions.fromList(given, seed) : Decisions.fromSeed(seed);
      time.begin(beginning, () => decisions.fraction());
      await postgres.setClock(beginning); // it has the end of the schedule before
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
        return { steps: sim.steps, trace: sim.trace, decisions: decisions.taken, broken };
      } finally {
        await sim.end();
      }
      return { steps: sim.steps, trace: sim.trace, decisions: decisions.taken };
    },
    async close() {
      restore();
      await postgres.close();
    },
  };
}

/** Tries of a shorter schedule. */
const maxTries = 200;

/**
 * Cuts a failing schedule off where it can be, and puts the quiet choice in place of others, as long as the same invariant breaks.
 * @returns the shorter schedule and how it went
 */
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
  for (let left = Math.floor(failed.decisions.length / 2); left >= 1; left = Math.floor(left / 2)) {
    while (best.schedule.decisions.length > left && (await attempt(best.schedule.decisions.slice(0, -left))));
  }
  for (
    let size = Math.ceil(best.schedule.decisions.length / 2);
    size >= 1 && tries < maxTries;
    size = Math.floor(size / 2)
  ) {
    for (let from = 0; from < best.schedule.decisions.length && tries < maxTries; from += size) {
      const decisions = best.schedule.decisions;
      if (decisions.slice(from, from + size).every((one) => one === 0)) continue;
      await attempt(decisions.map((one, place) => (place >= from && place < from + size ? 0 : one)));
    }
  }
  return best;
}

function withoutZeros(decisions: readonly number[]): number[] {
  const last = decisions.findLastIndex((one) => one !== 0);
  return decisions.slice(0, last + 1);
}
