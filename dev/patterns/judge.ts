/** Decides by `recheck` whether a regular expression takes at most linear time. */
import type { Pattern } from './collect.ts';

/** recheck needs milliseconds for most patterns, and seconds for the slowest. Machines may be busy. */
const timeoutMs = 120_000;

/** @returns why the pattern is refused; undefined if its time grows only linearly with the text */
export async function faultOf({ source, flags }: Pick<Pattern, 'source' | 'flags'>): Promise<string | undefined> {
  process.env['RECHECK_BACKEND'] = 'pure'; // The same on every platform, without an external program.
  const { checkSync } = await import('recheck');
  const result = checkSync(source, flags, { timeout: timeoutMs, randomSeed: 1 });
  if (result.status === 'safe') return undefined;
  if (result.status === 'unknown')
    return `recheck cannot determine its time (${result.error.kind}). Write it more simply, or search the text without a pattern.`;
  return `it takes ${result.complexity.summary} time, such as for ${result.attack.pattern}`;
}
