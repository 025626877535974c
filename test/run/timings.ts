/** Reads the duration of each test file, from the last run and from the committed table. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';

/** The seconds of each file, including its hooks, by the file's path from the project's directory. */
export type Durations = Readonly<Record<string, number>>;

/** A file with one line for each test file of the last run. The root hooks (hooks.ts) write this file. */
export const timingsFile = path.join(projectDirectory, '.data', 'test-timings.jsonl');

const durationsFile = path.join(projectDirectory, 'test', 'run', 'durations.json');

export function committedDurations(): Durations {
  return JSON.parse(readFileSync(durationsFile, 'utf8')) as Durations;
}

export function readTimings(): Durations {
  const lines = readFileSync(timingsFile, 'utf8').split('\n').filter(Boolean);
  const measured = lines.map((line) => JSON.parse(line) as { file: string; ms: number });
  return Object.fromEntries(
    measured
      .map(({ file, ms }) => [path.relative(projectDirectory, file), Number((ms / 1_000).toFixed(1))] as const)
      .toSorted(([one], [other]) => one.localeCompare(other)),
  );
}

export function writeDurations(durations: Durations): void {
  writeFileSync(durationsFile, `${JSON.stringify(durations, null, 2)}\n`);
}

/**
 * A file may take three times its committed seconds plus five seconds. Files stay within this limit on a busy machine, but a new slow hook
 * exceeds the limit.
 */
const noise = { factor: 3, seconds: 5 };
/** The limit in seconds of a file that has no entry in the table. */
const newFileSeconds = 10;

/** @returns a sentence for each file that took longer than its budget */
export function overBudget(measured: Durations, committed: Durations): string[] {
  return Object.entries(measured).flatMap(([file, seconds]) => {
    const usual = committed[file];
    const budget = usual === undefined ? newFileSeconds : noise.factor * usual + noise.seconds;
    return seconds > budget ? [`${file} took ${seconds} s; its budget is ${budget.toFixed(1)} s.`] : [];
  });
}
