/** Tries the changes of claims, records, authorization and pricing by the tests that cover them, which need the stack. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { startChild } from '../../../dev/stack/children.ts';
import { Problem, say } from '../../../dev/problem.ts';
import { projectDirectory } from '../../../dev/project.ts';
import { startRunServer } from '../../run/server.ts';
import { changesOf, lineOfChange, describeChange, type TriedChange } from './statement-changes.ts';
import type { Target } from './targets.ts';
import type { Trial } from './trial.ts';

/** A trial that takes longer than the unchanged tests took, so many times and so much more, hangs: that is noticed, too. */
const patience = { times: 3, moreMs: 30_000 } as const;
const unchangedMs = 300_000;

/** What ends a run before its end, so that nothing of it is left. */
let current: { stop(): Promise<void> } | undefined;

/**
 * @param sample how many changes of each target, spread evenly over its files; all, where it is undefined
 * @param onTarget called with what became of each change of the target's files
 * @throws Problem where the unchanged tests fail or hang
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
  await runTrial({ tests }, url, unchangedMs); // the first one waits for the stack
  const begun = performance.now();
  const unchanged = await runTrial({ tests }, url, unchangedMs);
  if (unchanged.code !== 0)
    throw new Problem(`${name}: its tests have to pass before anything is changed.\n${unchanged.output}`);
  const limitMs = (performance.now() - begun) * patience.times + patience.moreMs;
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

/** @returns so many of them, evenly spread; all, where no number is given or there are no more */
export function spread<One>(all: readonly One[], count = all.length): One[] {
  return all.filter(
    (_, place) => Math.floor((place * count) / all.length) !== Math.floor(((place - 1) * count) / all.length),
  );
}

async function resultOf(trial: Trial, url: string, limitMs: number): Promise<TriedChange['result']> {
  const { code } = await runTrial(trial, url, limitMs);
  if (code === undefined) return 'hung';
  return code === 0 ? 'survived' : code === 1 ? 'killed' : 'untold';
}

/** @returns its exit code, undefined where it was ended because it took too long; and what it said */
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
    // TEST_UNIT: it starts no stack of its own.
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
