/** Runs the same check for several cases. The message of a failure names the failed case. */
import { inspect } from 'node:util';

const longestName = 120;

export async function eachCase<Case>(cases: Iterable<Case>, check: (one: Case) => unknown): Promise<void> {
  let number = 0;
  for (const one of cases) {
    number += 1;
    try {
      await check(one);
    } catch (error) {
      if (error instanceof Error) error.message = `case ${number}, ${nameOf(one)}: ${error.message}`;
      throw error;
    }
  }
}

function nameOf(one: unknown): string {
  const name = inspect(one, { depth: 1, breakLength: Infinity, maxStringLength: 60, maxArrayLength: 5 });
  return name.length > longestName ? `${name.slice(0, longestName)}…` : name;
}
