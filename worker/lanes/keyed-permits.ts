/** Permits with a limit for each key. A key is an endpoint or a host (HOOK-16, HOOK-17). */
import { releaseOnce, type Permits, type ReleasePermit } from '../../platform/core/permits.ts';

/** The maximum number of keys for which a duration is stored. When there are more, the oldest key is deleted. */
const rememberedKeys = 10_000;
/** The duration that is assumed for a key before its first attempt has ended. It is the time limit of an attempt. */
const unknownMs = 15_000;
/**
 * The longest time until an attempt asks for a permit again, in milliseconds. It equals the wait after a first failed attempt (DEL-3),
 * because the receiver may soon answer quickly. A longer wait is replaced by a random time between half of this value and the whole value.
 */
export const longestWaitMs = 5 * 60_000;

export interface KeyedPermits extends Permits<string> {
  isFull(key: string): boolean;
  /** Acquires a permit, even beyond the limit. */
  acquire(key: string): ReleasePermit;
  report(key: string, durationMs: number): void;
}

/** @param capacity the number of permits of each key */
export function createKeyedPermits(capacity: number, random: () => number): KeyedPermits {
  const counts = new Map<string, number>();
  const durations = new Map<string, number>();
  /** The latest time that `retryAt` returned for each key, in Unix milliseconds. */
  const lastRetries = new Map<string, number>();
  const isFull = (key: string) => (counts.get(key) ?? 0) >= capacity;

  function acquire(key: string): ReleasePermit {
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return releaseOnce(() => {
      const count = (counts.get(key) ?? 1) - 1;
      if (count > 0) return void counts.set(key, count);
      counts.delete(key);
      lastRetries.delete(key);
    });
  }

  return {
    isFull,
    acquire,
    tryAcquire: (key) => (isFull(key) ? undefined : acquire(key)),
    retryAt(key, now) {
      const durationMs = durations.get(key) ?? unknownMs;
      const at = Math.max(lastRetries.get(key) ?? 0, now + durationMs) + durationMs / capacity;
      if (at - now > longestWaitMs) return Math.round(now + longestWaitMs * (0.5 + random() / 2));
      lastRetries.set(key, at);
      return Math.round(at);
    },
    report(key, durationMs) {
      durations.delete(key); // so that the key becomes the newest
      durations.set(key, durationMs);
      const [oldest] = durations.keys();
      if (durations.size > rememberedKeys && oldest !== undefined) durations.delete(oldest);
    },
  };
}

/** Adds the key to the set as the newest key. If the set is then too large, the oldest key is deleted. */
export function remember(keys: Set<string>, key: string): void {
  keys.delete(key); // so that the key becomes the newest
  keys.add(key);
  const [oldest] = keys;
  if (keys.size > rememberedKeys && oldest !== undefined) keys.delete(oldest);
}
