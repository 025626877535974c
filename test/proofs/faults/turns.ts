/** Kills the processes of a proof one after another in several rounds, and restarts each process after a while. */
import { setTimeout as sleep } from 'node:timers/promises';
import { progress } from './progress.ts';
import { between } from './ranges.ts';

interface Turns<Victim extends string> {
  victims: readonly Victim[];
  rounds: number;
  deadForMs: Parameters<typeof between>[0];
  beforeKill: () => Promise<unknown>;
  kill: (victim: Victim) => Promise<unknown>;
  startAgain: (victim: Victim) => Promise<unknown>;
  standing: () => string;
}

export async function killInTurn<Victim extends string>(turns: Turns<Victim>): Promise<Victim[]> {
  const { victims, rounds, deadForMs, beforeKill, kill, startAgain, standing } = turns;
  const kills: Victim[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const victim of victims) {
      await beforeKill();
      await kill(victim);
      kills.push(victim);
      progress(`killed ${victim} (round ${round}); ${standing()}`);
      await sleep(between(deadForMs));
      await startAgain(victim);
    }
  }
  return kills;
}
