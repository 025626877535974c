/** Writes progress to stderr, with the time since the start, so that stdout contains only the result. */

const beganAt = performance.now();

export function elapsedSeconds(): number {
  return (performance.now() - beganAt) / 1_000;
}

export function progress(line: string): void {
  process.stderr.write(`${elapsedSeconds().toFixed(1).padStart(6)} s  ${line}\n`);
}
