/** A look each minute, and what became of them: growth by regression after the warm-up. */
import { afterWarmUp, lineThrough, percentAnHour } from './growth.ts';
import { isPassedThrough, type TableSize, type Waiting } from './database.ts';
import type { Use } from './processes.ts';

export interface Sample {
  /** Hours since people began to be busy. */
  x: number;
  /** By name. */
  processes: Readonly<Record<string, Use>>;
  tables: readonly TableSize[];
  waiting: Waiting;
  /** Open runs of Temporal, and the events of the longest history. */
  histories: { open: number; longest: number };
  /** CPU cores in use since the look before, of all processes together. */
  cores: number;
}

/** The processes that live through the whole run: others are killed and begin anew. */
export const longLived = ['worker', 'API'] as const;

interface Growth {
  /** Percent an hour, with standard error. */
  memory: { percent: number; error: number };
  heap: { percent: number; error: number };
  tables: { percent: number; error: number };
  /** How many more at the end than after the warm-up, along the line. */
  handles: number;
  /** By process and by table, those that grow most first: lines for people. */
  details: string[];
}

/** @param hours how long the run was */
export function growthOf(samples: readonly Sample[], hours: number): Growth {
  const warm = afterWarmUp(samples, hours);
  const of = (value: (sample: Sample) => number | undefined) =>
    warm.flatMap((sample) => {
      const y = value(sample);
      return y === undefined || Number.isNaN(y) ? [] : [{ x: sample.x, y }];
    });
  const sumOf = (key: Measure) => (sample: Sample) =>
    longLived.reduce((sum, name) => sum + (measured(sample.processes[name], key) ?? Number.NaN), 0);
  const base = warm[0]?.tables ?? [];
  const span = (warm.at(-1)?.x ?? 0) - (warm[0]?.x ?? 0);
  const perHour = (value: (sample: Sample) => number | undefined) => lineThrough(of(value));
  const names = [...new Set(warm.flatMap(({ processes }) => Object.keys(processes)))];
  const details = [
    ...names.flatMap((name) =>
      (Object.keys(measures) as Measure[]).flatMap((key) => {
        const { slope, error, mean } = perHour(({ processes }) => measured(processes[name], key));
        if (mean === 0) return [];
        const [unit, digits] = key === 'handles' ? [1, 1] : [2 ** 20, 1];
        const label = measures[key];
        const whole = longLived.some((one) => one === name) ? '' : ' (killed now and then)';
        return `${name}${whole}: ${label} mean ${(mean / unit).toFixed(digits)}, ${signed(slope / unit, digits)}/h (± ${(error / unit).toFixed(digits)})`;
      }),
    ),
    ...growingTables(warm, base),
  ];
  return {
    memory: percentAnHour(of(sumOf('rss'))),
    heap: percentAnHour(of(sumOf('used'))),
    tables: percentAnHour(of(({ tables }) => sizeOfPassedThrough(tables))),
    handles: Math.round(perHour(sumOf('handles')).slope * span),
    details,
  };
}

/** What is measured of a process, as people read it. `rest` is what RSS has beside files, heaps and buffers. */
const measures = {
  rss: 'RSS in MiB',
  file: 'of it pages of files in MiB',
  used: 'heap after GC in MiB',
  taken: 'heap with free room in MiB',
  external: 'buffers in MiB',
  rest: 'rest (threads, libraries, allocator) in MiB',
  handles: 'handles',
} as const;
type Measure = keyof typeof measures;

function measured(use: Use | undefined, key: Measure): number | undefined {
  if (!use) return undefined;
  if (key === 'rss' || key === 'file' || key === 'handles') return use[key];
  if (key !== 'rest') return use.heaps?.[key];
  return use.heaps && use.rss - use.file - use.heaps.taken - use.heaps.external;
}

const sizeOfPassedThrough = (tables: readonly TableSize[]): number =>
  tables.reduce((total, { name, bytes }) => total + (isPassedThrough(name) ? bytes : 0), 0);

const tablesShown = 15;

function growingTables(warm: readonly Sample[], base: readonly TableSize[]): string[] {
  const rows = base.map(({ name }) => {
    const of = (key: 'bytes' | 'rows') =>
      lineThrough(warm.map(({ x, tables }) => ({ x, y: tables.find((table) => table.name === name)?.[key] ?? 0 })));
    return { name, bytes: of('bytes'), rows: of('rows') };
  });
  const growing = rows
    .filter(({ bytes }) => bytes.slope > 0)
    .toSorted((one, other) => other.bytes.slope - one.bytes.slope);
  return [true, false].flatMap((passes) =>
    growing
      .filter(({ name }) => isPassedThrough(name) === passes)
      .slice(0, tablesShown)
      .map(
        ({ name, bytes, rows: count }) =>
          `${passes ? 'table that rows pass through,' : 'table'} ${name}: mean ${kib(bytes.mean)} KiB, ${signed(bytes.slope / 1_024, 0)} KiB/h; ${signed(count.slope, 0)} rows/h, mean ${count.mean.toFixed(0)}`,
      ),
  );
}

const kib = (bytes: number): string => (bytes / 1_024).toFixed(0);
const signed = (value: number, digits: number): string => `${value < 0 ? '' : '+'}${value.toFixed(digits)}`;
