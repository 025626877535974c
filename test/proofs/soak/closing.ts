/** The closing lines of a run. */
import { growthOf, type Sample } from './samples.ts';
import type { Held } from './tally.ts';

const linesShown = 20;

/** @param hours people were asked to be busy @returns lines, of which the last one is the sum */
export function closingLines(
  { facts, lost, twice }: Held,
  samples: readonly Sample[],
  { hours, kills, endedByItself }: { hours: number; kills: number; endedByItself: number },
): string[] {
  const { memory, heap, tables, handles, details } = growthOf(samples, hours);
  const most = (value: (sample: Sample) => number) => Math.max(0, ...samples.map(value));
  const cores = samples.reduce((sum, sample) => sum + sample.cores, 0) / Math.max(1, samples.length);
  return [
    ...details,
    `longest history ${most(({ histories }) => histories.longest)} events; a fact waited ${most(({ waiting }) => waiting.factsLag).toFixed(0)} s at most, as seen each minute`,
    `${kills} kills; processes that ended by themselves: ${endedByItself}; ${cores.toFixed(2)} cores on average`,
    ...lost.slice(0, linesShown).map((line) => `lost: ${line}`),
    ...twice.slice(0, linesShown).map((line) => `twice: ${line}`),
    `RSS ${shown(memory)}, heap after garbage collection ${shown(heap)}, tables ${shown(tables)}: with standard errors`,
    `hours ${hours}, facts ${facts}, lost ${lost.length}, twice ${twice.length}, ` +
      `growth: memory ${memory.percent.toFixed(1)} %/h, tables ${tables.percent.toFixed(1)} %/h, handles ${handles}`,
  ];
}

const shown = ({ percent, error }: { percent: number; error: number }): string =>
  `${percent.toFixed(1)} %/h (± ${Number.isFinite(error) ? error.toFixed(1) : 'unknown: too few looks'})`;
