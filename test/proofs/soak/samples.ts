/** The samples of a soak, and the growth after the warm-up, which a regression computes from the samples. */
import { afterWarmUp, lineThrough, percentAnHour } from './growth.ts';
import { isPassedThrough, type TableSize, type Waiting } from './database.ts';
import type { Use } from './processes.ts';

export interface Sample {
  x: number;
  processes: Readonly<Record<string, Use>>;
  tables: readonly TableSize[];
  waiting: Waiting;
  /** The number of open runs in Temporal, and the events of the longest history. */
  histories: { open: number; longest: number };
  /** CPU cores that all processes used since the last sample. */
  cores: number;
}

/** These processes are never killed. */
export const longLived = ['worker', 'API'] as const;

interface Growth {
  /** In percent of the mean in an hour, with the standard error. */
  memory: { percent: number; error: number };
  heap: { percent: number; error: number };
  tables: { percent: number; error: number };
  /** The change in open handles after the warm-up, by the fitted line. */
  handles: number;
  details: string[];
}

export function growthOf(samples: readonly Sample[], hours: number): Growth {
  const warm = afterWarmUp(samples, hours);
  const pointsOf = (value: (sample: Sample) => number | undefined) =>
    warm.flatMap((sample) => {
      const y = value(sample);
      return y === undefined || Number.isNaN(y) ? [] : [{ x: sample.x, y }];
    });
  const sumOf = (key: Measure) => (sample: Sample) =>
    longLived.reduce((sum, name) => sum + (valueOf(sample.processes[name], key) ?? Number.NaN), 0);
  const base = warm[0]?.tables ?? [];
  const span = (warm.at(-1)?.x ?? 0) - (warm[0]?.x ?? 0);
  const perHour = (value: (sample: Sample) => number | undefined) => lineThrough(pointsOf(value));
  const names = [...new Set(warm.flatMap(({ processes }) => Object.keys(processes)))];
  const details = [
    ...names.flatMap((name) =>
      (Object.keys(measures) as Measure[]).flatMap((key) => {
        const { slope, error, mean } = perHour(({ processes }) => valueOf(processes[name], key));
        if (mean === 0) return [];
        const [unit, digits] = key === 'handles' ? [1, 1] : [2 ** 20, 1];
        const label = measures[key];
        const whole = longLived.some((one) => one === name) ? '' : ' (killed from time to time)';
        return `${name}${whole}: ${label} mean ${(mean / unit).toFixed(digits)}, ${signed(slope / unit, digits)}/h (± ${(error / unit).toFixed(digits)})`;
      }),
    ),
    ...growingTables(warm, base),
  ];
  return {
    memory: percentAnHour(pointsOf(sumOf('rss'))),
    heap: percentAnHour(pointsOf(sumOf('used'))),
    tables: percentAnHour(pointsOf(({ tables }) => sizeOfPassedThrough(tables))),
    handles: Math.round(perHour(sumOf('handles')).slope * span),
    details,
  };
}

/** The measured values of a process with their labels. `rest` is the resident memory without files, heaps and buffers. */
const measures = {
  rss: 'RSS in MiB',
  file: 'pages of files in RSS in MiB',
  used: 'heap after GC in MiB',
  reserved: 'reserved heap in MiB',
  external: 'buffers in MiB',
  rest: 'rest (threads, libraries, allocator) in MiB',
  handles: 'handles',
} as const;
type Measure = keyof typeof measures;

function valueOf(use: Use | undefined, key: Measure): number | undefined {
  if (!use) return undefined;
  if (key === 'rss' || key === 'file' || key === 'handles') return use[key];
  if (key !== 'rest') return use.heaps?.[key];
  return use.heaps && use.rss - use.file - use.heaps.reserved - use.heaps.external;
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
          `${passes ? 'table with short-lived rows,' : 'table'} ${name}: mean ${kib(bytes.mean)} KiB, ${signed(bytes.slope / 1_024, 0)} KiB/h; ${signed(count.slope, 0)} rows/h, mean ${count.mean.toFixed(0)}`,
      ),
  );
}

const kib = (bytes: number): string => (bytes / 1_024).toFixed(0);
const signed = (value: number, digits: number): string => `${value < 0 ? '' : '+'}${value.toFixed(digits)}`;
