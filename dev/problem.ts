/** What a script tells its user when it cannot go on: a message without a stack trace, and exit code 1. */

/** Something that the user can put right. The message is complete: what happened, and what to do. */
export class Problem extends Error {
  override name = 'Problem';
}

/** The message of whatever was thrown: one line for an ordinary error. */
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
 * Runs a script to its end and ends the process with the exit code that `main` gives, or 1 when it throws: a
 * {@link Problem} is printed as it is, anything else (a mistake of ours) with its stack.
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
