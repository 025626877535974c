/** Counts the results of a mutation run and formats them. Pure. */
import type { MutantResult } from '@stryker-mutator/api/core';

/** `invalid`: the files do not load with the change, or Postgres cannot parse it, or the change is excluded with a reason. */
export type Result = 'killed' | 'survived' | 'hung' | 'invalid';

export interface MutationTally {
  killed: number;
  survived: number;
  hung: readonly string[];
}

/**
 * @returns the result of a mutant, from the status that Stryker reports. If an endless loop reaches Stryker's hit limit, the mutant counts
 * as killed, not as hung
 */
export function resultOf({ status, statusReason }: Pick<MutantResult, 'status' | 'statusReason'>): Result {
  if (status === 'Killed') return 'killed';
  if (status === 'Timeout') return statusReason?.startsWith('Hit limit reached') ? 'killed' : 'hung';
  return ['RuntimeError', 'CompileError', 'Ignored'].includes(status) ? 'invalid' : 'survived';
}

export function tallyOf(tried: readonly { result: Result; line: string }[]): MutationTally {
  const count = (kind: Result) => tried.filter(({ result }) => result === kind).length;
  const hung = tried.filter(({ result }) => result === 'hung').map(({ line }) => line);
  return { killed: count('killed'), survived: count('survived'), hung };
}

export function mutationLine(tallies: readonly MutationTally[]): string {
  const [killed, survived] = [sum(tallies, 'killed'), sum(tallies, 'survived')];
  return `mutants ${killed + survived}, killed ${killed}, survived ${survived}, score ${shareOf(tallies).toFixed(2)}`;
}

/** @returns the share of killed changes, from 0 to 1; 1 without any change */
export function shareOf(tallies: readonly MutationTally[]): number {
  const [killed, survived] = [sum(tallies, 'killed'), sum(tallies, 'survived')];
  return killed + survived === 0 ? 1 : killed / (killed + survived);
}

export function aboutHung(lines: readonly string[]): string {
  return [
    `${lines.length} change(s) hung and were stopped, so it is unknown whether a test would notice them:`,
    ...lines,
    'Give the loop a bound, or exclude the change by a comment: // Stryker disable next-line all: and the reason.',
  ].join('\n');
}

function sum(tallies: readonly MutationTally[], field: 'killed' | 'survived'): number {
  return tallies.reduce((total, tally) => total + tally[field], 0);
}
