/** What the sweeper rescued, over all lives of the worker: its counter is read every second, and begins anew with each life. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Rescues {
  readonly total: number;
  /** Reads the counter for the last time in this life of the worker. */
  beforeKill(): Promise<void>;
  stop(): void;
}

const everyMs = 1_000;
const sample = /^sweeper_rescued_total (\d+)$/m;

/** @param workerUrl where the worker's /metrics stands */
export function countRescues(workerUrl: string): Rescues {
  let total = 0;
  let last = 0;
  let life = 1;
  let stopped = false;

  async function look(): Promise<void> {
    const asked = life;
    const text = await fetch(`${workerUrl}/metrics`, { signal: AbortSignal.timeout(everyMs) }).then(
      (answer) => answer.text(),
      () => '', // it is dead
    );
    const counted = sample.exec(text)?.[1];
    if (counted === undefined || asked !== life) return;
    total += Math.max(0, Number(counted) - last);
    last = Number(counted);
  }

  async function keepLooking(): Promise<void> {
    while (!stopped) {
      await look();
      await sleep(everyMs);
    }
  }

  void keepLooking();
  return {
    get total() {
      return total;
    },
    async beforeKill() {
      await look();
      last = 0;
      life++;
    },
    stop() {
      stopped = true;
    },
  };
}
