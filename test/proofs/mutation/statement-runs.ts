/** Tries the changes of claims, records, authorization and pricing with the tests that cover them, which need the stack. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { startChild } from '../../../dev/stack/children.ts';
import { Problem, say } from '../../../dev/problem.ts';
import { projectDirectory } from '../../../dev/project.ts';
import { startRunServer } from '../../run/server.ts';
import { changesOf, lineOfChange, describeChange, type TriedChange } from './statement-changes.ts';
import type { Target } from './targets.ts';
import type { Trial } from './trial.ts';

/** A trial counts as hung if it lasts longer than `times` times the duration of the unchanged tests, plus `moreMs`. */
const patience = { times: 3, moreMs: 30_000 } as const;
const unchangedMs = 300_000;

/** The trial that runs now. An interruption of the command must stop it. */
let current: { stop(): Promise<void> } | undefined;

/**
 * @param sample the number of changes of each target, spread evenly over its files; undefined for all changes
 * @param onTarget is called with the results of all changes of a target
 * @throws Problem if the unchanged tests fail or hang
 */
export async function tryStatements(
  targets: readonly Target[],
  sample: number | undefined,
  onTarget: (target: Target, tried: TriedChange[]) => void,
): Promise<void> {
  const server = await startRunServer(1);
  const stop = () => void Promise.allSettled([current?.stop(), server.stop()]).then(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    for (const target of targets) onTarget(target, await tryTarget(target, sample, server.url));
  } finally {
    await server.stop();
  }
}

async function tryTarget(
  { name, sources, tests }: Target,
  sample: number | undefined,
  url: string,
): Promise<TriedChange[]> {
  await runTrial({ tests }, url, unchangedMs); // the first trial waits for the stack
  const beganAt = performance.now();
  const unchanged = await runTrial({ tests }, url, unchangedMs);
  if (unchanged.code !== 0) throw new Problem(`${name}: its tests must pass without changes.\n${unchanged.output}`);
  const limitMs = (performance.now() - beganAt) * patience.times + patience.moreMs;
  const tried: TriedChange[] = [];
  const changes = sources.flatMap((file) => {
    const text = readFileSync(path.join(projectDirectory, file), 'utf8');
    return changesOf(text).map((change) => ({ file, change, ...describeChange(text, change) }));
  });
  for (const { change, ...place } of spread(changes, sample)) {
    const one = { ...place, result: await resultOf({ tests, changed: { file: place.file, change } }, url, limitMs) };
    if (one.result !== 'killed') say(lineOfChange(one));
    tried.push(one);
  }
  return tried;
}

/** @returns `count` evenly spread items; all items if `count` is undefined or larger than their number */
export function spread<One>(all: readonly One[], count = all.length): One[] {
  return all.filter(
    (_, place) => Math.floor((place * count) / all.length) !== Math.floor(((place - 1) * count) / all.length),
  );
}

async function resultOf(trial: Trial, url: string, limitMs: number): Promise<TriedChange['result']> {
  const { code } = await runTrial(trial, url, limitMs);
  if (code === undefined) return 'hung';
  return code === 0 ? 'survived' : code === 1 ? 'killed' : 'invalid';
}

/** @returns the exit code (undefined if the trial took too long), and the output */
async function runTrial(
  trial: Trial,
  url: string,
  limitMs: number,
): Promise<{ code: number | undefined; output: string }> {
  const child = startChild({
    name: 'a trial',
    command: process.execPath,
    args: ['--import', './platform/load.mjs', 'test/proofs/mutation/trial.ts'],
    cwd: projectDirectory,
    // TEST_UNIT prevents that the child process starts a second stack.
    env: { ...process.env, MUTATION_TRIAL: JSON.stringify(trial), TEST_RUN_URL: url, TEST_UNIT: '1' },
    logFile: path.join(projectDirectory, '.data', 'mutation-trial.log'),
    graceMs: 2_000,
  });
  current = child;
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    void child.stop();
  }, limitMs);
  const { code, signal } = await child.exited;
  clearTimeout(late);
  current = undefined;
  return { code: isLate ? undefined : signal === null ? (code ?? 1) : 1, output: child.lastLines() };
}
