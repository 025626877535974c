/** Evaluates the results of a test run, which the reporter writes for the launcher (main.ts). */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';

/** The results of one mocha run (reporter.cjs). */
export interface Results {
  readonly passed: number;
  /** Includes failed hooks. */
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly { readonly title: string; readonly file: string; readonly message: string }[];
}

/** A flaky test, with the cause of its failures. The entry stays in test/flakes.json until the test is corrected. */
interface Flake {
  readonly title: string;
  readonly cause: string;
}

export function mergedResults(one: Results, other: Results): Results {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
    failures: [...one.failures, ...other.failures],
  };
}

const flakesFile = path.join(projectDirectory, 'test', 'flakes.json');

export function knownFlakes(): Flake[] {
  return JSON.parse(readFileSync(flakesFile, 'utf8')) as Flake[];
}

/** Returns the failures of the first run that did not occur again in the second run. The whole run still counts as failed. */
export function flakyTests(first: Results, second: Results): Results['failures'] {
  const stillFailing = new Set(second.failures.map(({ title }) => title));
  return first.failures.filter(({ title }) => !stillFailing.has(title));
}

/** Returns a line for each flaky test: its failure, and the known cause or the required action. */
export function flakeReport(flaky: Results['failures'], known: readonly Flake[]): string[] {
  return flaky.map(({ title, message }) => {
    const cause = known.find((flake) => flake.title === title)?.cause;
    return `Flaky: ${title}: ${message} (${cause ?? unknownFlake})`;
  });
}

const unknownFlake = 'not in test/flakes.json yet: find the cause and mend it, or write it down there';

export function closingLine({ passed, failed, skipped }: Results): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
