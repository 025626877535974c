/** What happens meanwhile goes to stderr, with the time since the beginning: stdout holds the result alone. */

const beganAt = performance.now();

/** @returns seconds since this process began to look at the time */
export function elapsedSeconds(): number {
  return (performance.now() - beganAt) / 1_000;
}

export function progress(line: string): void {
  process.stderr.write(`${elapsedSeconds().toFixed(1).padStart(6)} s  ${line}\n`);
}
