/** Kills a process every few minutes, and restarts it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../dev/problem.ts';
import type { MailGround } from '../faults/mail/place.ts';
import { progress } from '../faults/progress.ts';
import { between } from '../faults/ranges.ts';
import type { Second } from './seconds.ts';

const victims = ['second worker', 'second API', 'Temporal', 'Postgres', 'S3', 'mail server'] as const;
type SoakVictim = (typeof victims)[number];

/** The longest time between two kills. In a short soak the time is shorter, so that each process is killed at least once. */
const longestPaceMs = 3 * 60_000;
const killsAtLeast = 8;
const startsAtMost = 5;
const deadForMs = { least: 0, most: 5_000 };

interface KillSchedule {
  readonly kills: readonly SoakVictim[];
  readonly paceMs: number;
  run(remainingMs: () => number): Promise<void>;
}

export function killing(
  place: MailGround,
  { worker, api }: Readonly<Record<'worker' | 'api', Second>>,
  ms: number,
): KillSchedule {
  const kills: SoakVictim[] = [];
  const paceMs = Math.min(longestPaceMs, ms / (killsAtLeast + 1));
  const partOf = (victim: SoakVictim): Pick<Second, 'kill' | 'start'> => {
    if (victim === 'second worker') return worker;
    if (victim === 'second API') return api;
    return { kill: () => place.kill(victim), start: () => place.startAgain(victim) };
  };
  /** Repeats a start, because a start on an overloaded machine can take longer than its limit. */
  async function startPatiently(victim: SoakVictim): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await partOf(victim).start();
      } catch (error) {
        if (tries === startsAtMost) throw error;
        progress(`${victim} did not start, and the start is repeated: ${messageOf(error).split('\n')[0]}`);
        await partOf(victim)
          .kill()
          .catch(() => undefined); // the process does not exist
      }
    }
  }

  return {
    kills,
    paceMs,
    async run(remainingMs) {
      for (let round = 0; ; round++) {
        await sleep(Math.min(paceMs, Math.max(0, remainingMs())));
        if (remainingMs() < paceMs / 2) return;
        const victim = victims[round % victims.length] as SoakVictim;
        await partOf(victim).kill();
        kills.push(victim);
        await sleep(between(deadForMs));
        await startPatiently(victim);
      }
    },
  };
}
