/**
 * Reads and writes the figures of the benchmarks, which are stored as data in `bench/figures/<suite>.json`. `npm run generate` makes
 * docs/reference/figures.md from these files.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { projectDirectory } from '../dev/project.ts';

export const figuresDirectory = path.join(projectDirectory, 'bench', 'figures');

export interface Figure {
  /** The figure's name in the output of the suite; unique in its suite. */
  name: string;
  value: number;
  /** The unit, such as `deliveries/s` or `ms`. */
  unit: string;
  /** The value of the ceiling or the baseline in the same run. The suite's text `ceilings` explains this value. */
  ceiling?: number;
  /** The median of the ratios of all rounds. The ratio of a round is its value divided by its ceiling. */
  ratio?: number;
  /** The number of rounds. The value is their median. */
  rounds?: number;
  aim?: Aim;
}

/** The aim: one bound for the value, or for the ratio of the value to its ceiling. */
export interface Aim {
  of: 'value' | 'ratio';
  atLeast?: number;
  atMost?: number;
}

export interface Run {
  /** The day, `YYYY-MM-DD`. */
  date: string;
  /** The first eight digits of the commit, with `-changed` if the working tree differed from it. */
  commit: string;
  machine: string;
  figures: Figure[];
}

export interface SuiteFigures {
  suite: string;
  /** Starts the suite. */
  command: string;
  /** Explains what the ceilings and baselines are. */
  ceilings?: string;
  /** Explains what limits a figure, in at most two sentences. */
  limits: { figure: string; text: string }[];
  /** The runs in order of time; the newest run is last. Each figure is in only one run. */
  runs: Run[];
}

/** The keys in a reported line whose values are a ceiling or a baseline. */
const isCeiling = (key: string): boolean =>
  /^(ceiling|alone|without|checkout|websearch|first page)$|^(at|of) \d+/.test(key);

/**
 * Divides one reported line into figures. The figure of `value` gets the name of the line, and the figure of each further number gets the
 * name `<line>: <key>`.
 * @param values the values by their keys, such as `value`, `ceiling`, `ratio`, `p99`
 * @param rounds the number of rounds; the values are their medians
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

/** @returns the unit of a figure: the last unit in the figure's name, or `number` if the name contains no unit */
function unitOf(name: string): string {
  const units = name.match(/[A-Za-z]+\/s\b|\b(?:ms|s|kB|MB)\b|%/g);
  return units?.at(-1) ?? 'number';
}

const rounded = (value: number): number => Number(value.toPrecision(3));

/**
 * Adds a run to the figures of a suite. If a figure is measured again, it moves from its earlier run to the new run. The unit and the aim
 * of the figure do not change.
 * @returns the new figures; the function does not change its parameters
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

/** @returns the committed figures of a suite @throws Error if the file is not JSON */
export function readSuiteFigures(suite: string): SuiteFigures {
  const file = path.join(figuresDirectory, `${suite}.json`);
  if (!existsSync(file)) return { suite, command: `npm run bench -- ${suite}`, limits: [], runs: [] };
  return JSON.parse(readFileSync(file, 'utf8')) as SuiteFigures;
}

const figuresOfThisRun: Figure[] = [];
let mainLine = '';

/**
 * Stores the figures of one reported line, so that `saveRun` can write them later. An indented line adds details to the last line before it
 * that is not indented. `figuresOfLine` explains the parameters.
 */
export function recordLine(line: string, values: Readonly<Record<string, number>>, rounds?: number): void {
  const isDetail = line.startsWith(' ');
  if (!isDetail) mainLine = line;
  figuresOfThisRun.push(...figuresOfLine(isDetail ? `${mainLine}: ${line.trim()}` : line, values, rounds));
}

/**
 * Writes the figures of this process into the file of its suite.
 * @returns the path of the file, relative to the project's directory
 * @throws Error if no line was recorded, for example because the suite measured only a part of the gold set
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
