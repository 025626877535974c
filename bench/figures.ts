/** The figures of the benchmarks, as data in `bench/figures/<suite>.json`. `npm run generate` makes docs/reference/figures.md from them. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { projectDirectory } from '../dev/project.ts';

export const figuresDirectory = path.join(projectDirectory, 'bench', 'figures');

export interface Figure {
  /** The name in the output of the suite, which is unique there. */
  name: string;
  value: number;
  /** A unit such as `deliveries/s` or `ms`. */
  unit: string;
  /** A value of the same run. The suite's `ceilings` explains it. */
  ceiling?: number;
  /** The median of the rounds: value divided by ceiling. */
  ratio?: number;
  /** The number of rounds; the value is their median. */
  rounds?: number;
  aim?: Aim;
}

/** One bound, for the value or for its ratio to the ceiling. */
export interface Aim {
  of: 'value' | 'ratio';
  atLeast?: number;
  atMost?: number;
}

export interface Run {
  /** The day, `YYYY-MM-DD`. */
  date: string;
  /** The first eight digits of the commit, with `-changed` if the working tree differed. */
  commit: string;
  machine: string;
  figures: Figure[];
}

export interface SuiteFigures {
  suite: string;
  /** Starts the suite. */
  command: string;
  ceilings?: string;
  /** At most two sentences explain each figure. */
  limits: { figure: string; text: string }[];
  /** The newest run is last. Each figure is in only one run. */
  runs: Run[];
}

const isCeiling = (key: string): boolean =>
  /^(ceiling|alone|without|checkout|websearch|first page)$|^(at|of) \d+/.test(key);

/**
 * `value` gets the name of the line, each further number the name `<line>: <key>`.
 * @param values such as `value`, `ceiling`, `ratio`, `p99`
 * @param rounds the values are their medians
 */
export function figuresOfLine(line: string, values: Readonly<Record<string, number>>, rounds?: number): Figure[] {
  const entries = Object.entries(values).filter(([key]) => key !== 'aim');
  const ceiling = entries.find(([key]) => isCeiling(key))?.[1];
  const ratio = values['ratio'];
  const numbers = entries.filter(([key]) => key !== 'ratio' && !isCeiling(key) && !key.startsWith('bare '));
  return numbers.map(([key, value], at) => {
    const name = key === 'value' ? line : `${line}: ${key}`;
    const [ownCeiling, ownRatio] = at === 0 ? [ceiling ?? values[`bare ${key}`], ratio] : [values[`bare ${key}`]];
    return {
      name,
      value: rounded(value),
      unit: unitOf(name),
      ...(ownCeiling !== undefined && { ceiling: rounded(ownCeiling) }),
      ...(ownRatio !== undefined && { ratio: rounded(ownRatio) }),
      ...(rounds && { rounds }),
    };
  });
}

/** @returns the last unit in the name, or `number` */
function unitOf(name: string): string {
  const units = name.match(/[A-Za-z]+\/s\b|\b(?:ms|s|kB|MB)\b|%/g);
  return units?.at(-1) ?? 'number';
}

const rounded = (value: number): number => Number(value.toPrecision(3));

/**
 * A figure that is measured again moves to the new run, with its unit and its aim.
 * @returns the new figures; the parameters do not change
 */
export function withRun(suite: SuiteFigures, run: Run): SuiteFigures {
  const earlier = new Map(suite.runs.flatMap(({ figures }) => figures.map((figure) => [figure.name, figure] as const)));
  const names = new Set(run.figures.map(({ name }) => name));
  const figures = run.figures.map((figure) => {
    const { unit, aim } = earlier.get(figure.name) ?? figure;
    return { ...figure, unit, ...(aim && { aim }) };
  });
  const remaining = suite.runs
    .map((each) => ({ ...each, figures: each.figures.filter(({ name }) => !names.has(name)) }))
    .filter((each) => each.figures.length > 0);
  return { ...suite, runs: [...remaining, { ...run, figures }] };
}

/** @throws Error if the file is not JSON */
export function readSuiteFigures(suite: string): SuiteFigures {
  const file = path.join(figuresDirectory, `${suite}.json`);
  if (!existsSync(file)) return { suite, command: `npm run bench -- ${suite}`, limits: [], runs: [] };
  return JSON.parse(readFileSync(file, 'utf8')) as SuiteFigures;
}

const figuresOfThisRun: Figure[] = [];
let mainLine = '';

/**
 * Keeps the figures of a reported line for `saveRun`. An indented line adds details to the last line that is not indented. See
 * `figuresOfLine`.
 */
export function recordLine(line: string, values: Readonly<Record<string, number>>, rounds?: number): void {
  const isDetail = line.startsWith(' ');
  if (!isDetail) mainLine = line;
  figuresOfThisRun.push(...figuresOfLine(isDetail ? `${mainLine}: ${line.trim()}` : line, values, rounds));
}

/**
 * @returns the path relative to the project's directory
 * @throws Error if no line was recorded, for example because only a part of the gold set was measured
 */
export function saveRun(suite: string): string {
  if (figuresOfThisRun.length === 0) throw new Error('The run has no figure that can be saved. Run the whole suite.');
  const run: Run = {
    date: new Date().toISOString().slice(0, 10),
    commit: currentCommit(),
    machine: describeMachine(),
    figures: figuresOfThisRun,
  };
  const file = path.join(figuresDirectory, `${suite}.json`);
  writeFileSync(file, `${JSON.stringify(withRun(readSuiteFigures(suite), run), undefined, 2)}\n`);
  return path.relative(projectDirectory, file);
}

function currentCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: projectDirectory, encoding: 'utf8' }).trim();
  const isChanged = git('status', '--porcelain', '--', ':!bench/figures') !== '';
  return `${git('rev-parse', '--short=8', 'HEAD')}${isChanged ? '-changed' : ''}`;
}

function describeMachine(): string {
  const gigabytes = Math.round(os.totalmem() / 2 ** 30);
  return `${os.availableParallelism()} cores, ${gigabytes} GiB, Node ${process.versions.node}`;
}
