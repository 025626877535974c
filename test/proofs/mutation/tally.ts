/** What became of the changes of a run, and what it says of them. Pure. */
import type { MutantResult } from '@stryker-mutator/api/core';

/** `untold`: with the change the files do not load, or Postgres cannot read it, or it is left out with a reason. */
export type Result = 'killed' | 'survived' | 'hung' | 'untold';

export interface MutationTally {
  killed: number;
  survived: number;
  /** Lines that name the changes that did not come to an end. */
  hung: readonly string[];
}

/** @returns how Stryker found a change to end. One that repeats a place without end is counted there, and killed; it does not hang. */
export function resultOf({ status, statusReason }: Pick<MutantResult, 'status' | 'statusReason'>): Result {
  if (status === 'Killed') return 'killed';
  if (status === 'Timeout') return statusReason?.startsWith('Hit limit reached') ? 'killed' : 'hung';
  return ['RuntimeError', 'CompileError', 'Ignored'].includes(status) ? 'untold' : 'survived';
}

export function tallyOf(tried: readonly { result: Result; line: string }[]): MutationTally {
  const count = (wanted: Result) => tried.filter(({ result }) => result === wanted).length;
  const hung = tried.filter(({ result }) => result === 'hung').map(({ line }) => line);
  return { killed: count('killed'), survived: count('survived'), hung };
}

/** What hung counts in no number. */
export function mutationLine(tallies: readonly MutationTally[]): string {
  const [killed, survived] = [sum(tallies, 'killed'), sum(tallies, 'survived')];
  return `mutants ${killed + survived}, killed ${killed}, survived ${survived}, score ${shareOf(tallies).toFixed(2)}`;
}

/** @returns the share of the killed, from 0 to 1; 1 where nothing was changed */
export function shareOf(tallies: readonly MutationTally[]): number {
  const [killed, survived] = [sum(tallies, 'killed'), sum(tallies, 'survived')];
  return killed + survived === 0 ? 1 : killed / (killed + survived);
}

/** @returns the message that ends a run with changes that hang */
export function aboutHung(lines: readonly string[]): string {
  return [
    `${lines.length} change(s) hung. They were ended, and nothing tells whether a test would notice them:`,
    ...lines,
    'Give the loop a bound, or leave the change out: // Stryker disable next-line all: and the reason.',
  ].join('\n');
}

function sum(tallies: readonly MutationTally[], field: 'killed' | 'survived'): number {
  return tallies.reduce((total, tally) => total + tally[field], 0);
}
