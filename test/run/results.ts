/** What the reporter writes of a run for the launcher, and what the launcher makes of it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';

/** Of one run of mocha (reporter.cjs). */
export interface Results {
  readonly passed: number;
  /** Hooks that failed count too. */
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly { readonly title: string; readonly file: string; readonly message: string }[];
}

/** A test that fails now and then, and why; it stands in test/flakes.json until it is mended. */
interface Flake {
  readonly title: string;
  readonly cause: string;
}

const flakesFile = path.join(projectDirectory, 'test', 'flakes.json');

export function knownFlakes(): Flake[] {
  return JSON.parse(readFileSync(flakesFile, 'utf8')) as Flake[];
}

/** The failures of the first run that were none in the second. They failed all the same. */
export function flakyTests(first: Results, second: Results): Results['failures'] {
  const stillFailing = new Set(second.failures.map(({ title }) => title));
  return first.failures.filter(({ title }) => !stillFailing.has(title));
}

/** For each flaky test, how it failed, and what is known of it or what to do. */
export function flakeReport(flaky: Results['failures'], known: readonly Flake[]): string[] {
  return flaky.map(({ title, message }) => {
    const cause = known.find((flake) => flake.title === title)?.cause;
    return `Flaky: ${title}: ${message} (${cause ?? unknownFlake})`;
  });
}

const unknownFlake = 'not in test/flakes.json yet: find the cause and mend it, or write it down there';

/** The last line of a run. */
export function closingLine({ passed, failed, skipped }: Results): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
