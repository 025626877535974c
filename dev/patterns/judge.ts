/** Decides by recheck whether a regular expression takes linear time at most. */
import type { Pattern } from './collect.ts';

/** A long time limit for busy machines. recheck decides most patterns in milliseconds, and the slowest in some seconds. */
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
