/** Formats the closing lines of a run. */
import { growthOf, type Sample } from './samples.ts';
import type { FactTally } from './tally.ts';

const linesShown = 20;

export function closingLines(
  { facts, lostFacts, twice }: FactTally,
  samples: readonly Sample[],
  { hours, kills, endedByItself }: { hours: number; kills: number; endedByItself: number },
): string[] {
  const { memory, heap, tables, handles, details } = growthOf(samples, hours);
  const most = (value: (sample: Sample) => number) => Math.max(0, ...samples.map(value));
  const cores = samples.reduce((sum, sample) => sum + sample.cores, 0) / Math.max(1, samples.length);
  return [
    ...details,
    `longest history ${most(({ histories }) => histories.longest)} events; a fact waited ${most(({ waiting }) => waiting.factsLag).toFixed(0)} s at most, by a sample each minute`,
    `${kills} kills; processes that ended by themselves: ${endedByItself}; ${cores.toFixed(2)} cores on average`,
    ...lostFacts.slice(0, linesShown).map((line) => `lost: ${line}`),
    ...twice.slice(0, linesShown).map((line) => `twice: ${line}`),
    `RSS ${formatted(memory)}, heap after garbage collection ${formatted(heap)}, tables ${formatted(tables)}: with standard errors`,
    `hours ${hours}, facts ${facts}, lost ${lostFacts.length}, twice ${twice.length}, ` +
      `growth: memory ${memory.percent.toFixed(1)} %/h, tables ${tables.percent.toFixed(1)} %/h, handles ${handles}`,
  ];
}

const formatted = ({ percent, error }: { percent: number; error: number }): string =>
  `${percent.toFixed(1)} %/h (± ${Number.isFinite(error) ? error.toFixed(1) : 'unknown: too few samples'})`;
