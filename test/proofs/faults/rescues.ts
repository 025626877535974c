/**
 * Counts the rescues of the sweeper in all worker processes, one after another. Reads the counter every second, because each new process
 * begins at 0.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Rescues {
  readonly total: number;
  beforeKill(): Promise<void>;
  stop(): void;
}

const everyMs = 1_000;
const sample = /^sweeper_rescued_total (\d+)$/m;

export function countRescues(workerUrl: string): Rescues {
  let total = 0;
  let last = 0;
  let life = 1;
  let stopped = false;

  async function look(): Promise<void> {
    const lifeAtRequest = life;
    const text = await fetch(`${workerUrl}/metrics`, { signal: AbortSignal.timeout(everyMs) }).then(
      (answer) => answer.text(),
      () => '', // the worker is dead
    );
    const counted = sample.exec(text)?.[1];
    if (counted === undefined || lifeAtRequest !== life) return;
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
