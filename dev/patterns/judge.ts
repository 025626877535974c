/** Uses the checker `recheck` to decide whether a regular expression takes at most linear time. */
import type { Pattern } from './collect.ts';

/**
 * The time limit, which is long because machines may be busy. recheck needs some milliseconds for most patterns, and some seconds for the
 * slowest.
 */
const timeoutMs = 120_000;

/** @returns the reason why the pattern is refused; undefined if the time of a match grows only linearly with the length of the text */
export async function faultOf({ source, flags }: Pick<Pattern, 'source' | 'flags'>): Promise<string | undefined> {
  process.env['RECHECK_BACKEND'] = 'pure'; // This checker works equally on every platform, without an external program.
  const { checkSync } = await import('recheck');
  const result = checkSync(source, flags, { timeout: timeoutMs, randomSeed: 1 });
  if (result.status === 'safe') return undefined;
  if (result.status === 'unknown')
    return `recheck cannot determine its time (${result.error.kind}). Write it more simply, or search the text without a pattern.`;
  return `it takes ${result.complexity.summary} time, such as for ${result.attack.pattern}`;
}
