/** Counters of one process, for calls that must stay limited while the shared counters are unavailable (DEC-29). */
import type { Verdict } from './limiter.ts';
import { secondsUntilWindow, windowAt } from './windows.policy.ts';

const windowSeconds = 60;
/** Enough for a person who mistypes a password, and useless for guesses. */
const callsOfASubject = 3;
/** This also limits an attacker with many addresses, and the memory of this process. */
const callsOfAll = 30;

/** @returns a function that counts one call of a subject */
export function createLocalCounters(): (subject: string, now: number) => Verdict {
  let current: number | undefined;
  let all = 0;
  const counts = new Map<string, number>();

  return (subject, now) => {
    const window = windowAt(now, windowSeconds);
    if (window !== current) {
      current = window;
      all = 0;
      counts.clear();
    }
    const count = counts.get(subject) ?? 0;
    if (all >= callsOfAll || count >= callsOfASubject)
      return { allowed: false, retryAfterSeconds: secondsUntilWindow(window + 1, windowSeconds, now) };
    all += 1;
    counts.set(subject, count + 1);
    return { allowed: true };
  };
}
