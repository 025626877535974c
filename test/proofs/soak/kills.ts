/** What is killed every few minutes, and started again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../dev/problem.ts';
import type { MailGround } from '../faults/mail/place.ts';
import { progress } from '../faults/progress.ts';
import { between } from '../faults/ranges.ts';
import type { Second } from './seconds.ts';

const victims = ['second worker', 'second API', 'Temporal', 'Postgres', 'S3', 'mail server'] as const;
type SoakVictim = (typeof victims)[number];

/** Of a short run each victim has its turn, too. */
const longestPaceMs = 3 * 60_000;
const killsAtLeast = 8;
const startsAtMost = 5;
const deadForMs = { least: 0, most: 5_000 };

interface Killing {
  readonly kills: readonly SoakVictim[];
  /** Between two kills. */
  readonly paceMs: number;
  /** Resolves when the time is over, with everything up. */
  inTurns(left: () => number): Promise<void>;
}

/** @param ms how long people are busy */
export function killing(
  place: MailGround,
  { worker, api }: Readonly<Record<'worker' | 'api', Second>>,
  ms: number,
): Killing {
  const kills: SoakVictim[] = [];
  const paceMs = Math.min(longestPaceMs, ms / (killsAtLeast + 1));
  const partOf = (victim: SoakVictim): Pick<Second, 'kill' | 'start'> => {
    if (victim === 'second worker') return worker;
    if (victim === 'second API') return api;
    return { kill: () => place.kill(victim), start: () => place.startAgain(victim) };
  };
  /** On a machine that has too much to do, a start takes longer than it may: it is tried again. */
  async function startPatiently(victim: SoakVictim): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await partOf(victim).start();
      } catch (error) {
        if (tries === startsAtMost) throw error;
        progress(`${victim} did not start, and is started once more: ${messageOf(error).split('\n')[0]}`);
        await partOf(victim)
          .kill()
          .catch(() => undefined); // it is not there
      }
    }
  }

  return {
    kills,
    paceMs,
    async inTurns(left) {
      for (let turn = 0; ; turn++) {
        await sleep(Math.min(paceMs, Math.max(0, left())));
        if (left() < paceMs / 2) return;
        const victim = victims[turn % victims.length] as SoakVictim;
        await partOf(victim).kill();
        kills.push(victim);
        await sleep(between(deadForMs));
        await startPatiently(victim);
      }
    },
  };
}
