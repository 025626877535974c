/** Ends scripts that cannot continue, with a message, without a stack trace, and with exit code 1. */

/** A problem that the user can solve. The message says what happened, and what to do. */
export class Problem extends Error {
  override name = 'Problem';
}

/** The message of an ordinary error is one line. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(messageOf).join('; ');
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : ` (${messageOf(error.cause)})`;
  return `${error.message || error.name}${cause}`;
}

/** Prints one line of progress. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/**
 * Runs a script and ends the process with the exit code of `main`, or 1 if `main` throws. Prints a {@link Problem} without a stack. Any
 * other error is a bug, and is printed with its stack.
 */
export async function runScript(main: () => Promise<number>): Promise<never> {
  try {
    process.exit(await main());
  } catch (error) {
    const text = error instanceof Problem ? error.message : error instanceof Error ? error.stack : String(error);
    process.stderr.write(`\n${text}\n`);
    process.exit(1);
  }
}
