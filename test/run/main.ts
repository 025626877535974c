/**
 * `npm test` runs all test files, the longest first. It starts one process more than the machine has cores. Arguments:
 *
 *   --grep words   runs some tests; files that contain these words come first
 *   test/….test.ts some files
 *   --unit         runs the tests that need no stack, except slow files (durations.json)
 *   --seed N       runs the files in the random order of seed N
 *   --jobs N       uses N processes
 *   --durations    writes test/run/durations.json anew
 *   --budgets      runs nothing; fails if a file of the last run took longer than its budget in durations.json
 *
 * Mocha receives all other arguments. Files with a failed test run a second time, to distinguish flaky tests from broken tests. The run
 * fails in both cases.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { requireComponents } from '../../dev/components.ts';
import { Problem, runScript, say } from '../../dev/problem.ts';
import { projectDirectory } from '../../dev/project.ts';
import { isQuick, isUnitTest, likeliestFirst, longestFirst, shuffled, testFiles } from './files.ts';
import { recordsFolder, statementsTest } from '../statements/records.ts';
import { closingLine, flakeReport, flakyTests, knownFlakes, mergedResults, type Results } from './results.ts';
import { committedDurations, overBudget, readTimings, timingsFile, writeDurations } from './timings.ts';

const { values, positionals, tokens } = parseArgs({
  allowPositionals: true,
  strict: false,
  tokens: true,
  options: {
    unit: { type: 'boolean' },
    durations: { type: 'boolean' },
    budgets: { type: 'boolean' },
    seed: { type: 'string' },
    jobs: { type: 'string' },
    grep: { type: 'string', short: 'g' },
  },
});
const ours = new Set(['unit', 'durations', 'budgets', 'seed', 'jobs']);
const passedOn = tokens.flatMap((token) =>
  token.kind === 'option' && !ours.has(token.name) ? [token.rawName, ...(token.value ? [token.value] : [])] : [],
);
/**
 * The number of test processes beyond the number of cores. Test files that kill workers wait until leases and heartbeats expire. During
 * these waits the additional processes use the cores.
 */
const waitingJobs = 1;
const jobs = Number(values.jobs ?? os.availableParallelism() + waitingJobs);
const resultsFile = path.join(path.dirname(timingsFile), 'test-results.json');
const crashesFile = path.join(path.dirname(timingsFile), 'test-crashes.txt');

if (values.budgets === true) await runScript(async () => checkBudgets());
if (values.unit !== true) await requireComponents();
mkdirSync(path.dirname(timingsFile), { recursive: true });
writeFileSync(timingsFile, '');
writeFileSync(crashesFile, '');
const first = runAndCheck(inOrder(positionals.length > 0 ? positionals : requestedFiles()));
if (first === undefined) {
  process.exitCode = 1; // Mocha failed, and has printed the reason.
} else {
  const again = [...new Set(first.failures.map(({ file }) => file))].filter(Boolean);
  if (again.length > 0) {
    process.stdout.write(`\nOnce more, the files with failures: are they flaky?\n`);
    const second = runMocha(again);
    for (const line of second ? flakeReport(flakyTests(first, second), knownFlakes()) : []) {
      process.stdout.write(`${line}\n`);
    }
  }
  process.stdout.write(readFileSync(crashesFile, 'utf8')); // Crashes of the stack's servers may explain many failures.
  if (values.durations === true && first.failed === 0) writeDurations(readTimings());
  process.stdout.write(`\n${closingLine(first)}\n`);
  process.exitCode = Math.min(first.failed, 255);
}

/** @throws Problem with the name of each file that exceeded its budget */
function checkBudgets(): number {
  const measured = readTimings();
  const over = overBudget(measured, committedDurations());
  if (over.length > 0)
    throw new Problem(
      [...over, 'Make it faster, or run `npm test -- --durations` and say in the commit why it takes longer.'].join(
        '\n',
      ),
    );
  say(`${Object.keys(measured).length} test files are within their budgets.`);
  return 0;
}

/**
 * First runs all other files and records their SQL statements. Then runs the test file that checks the rows that the code declares for
 * these statements. A run with `--grep` records nothing, because only some tests run.
 */
function runAndCheck(all: readonly string[]): Results | undefined {
  if (!all.includes(statementsTest) || all.length === 1 || values.grep !== undefined) {
    return runMocha(all, { TEST_TIMINGS: timingsFile });
  }
  rmSync(recordsFolder, { recursive: true, force: true });
  const others = all.filter((file) => file !== statementsTest);
  const results = runMocha(others, { TEST_TIMINGS: timingsFile, TEST_STATEMENTS: recordsFolder });
  const checked = results && runMocha([statementsTest], { TEST_TIMINGS: timingsFile });
  return results && checked && mergedResults(results, checked);
}

/** @returns undefined if mocha did not finish */
function runMocha(files: readonly string[], env: Readonly<Record<string, string>> = {}): Results | undefined {
  rmSync(resultsFile, { force: true });
  const mocha = path.join(projectDirectory, 'node_modules', 'mocha', 'bin', 'mocha.js');
  const inParallel = jobs > 1 ? ['--parallel', '--jobs', String(jobs)] : [];
  spawnSync(process.execPath, [mocha, ...inParallel, ...passedOn, ...files], {
    cwd: projectDirectory,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...env,
      TEST_JOBS: String(jobs),
      TEST_RESULTS: resultsFile,
      TEST_CRASHES: crashesFile,
      ...(values.unit === true && { TEST_UNIT: '1' }),
    },
  });
  return existsSync(resultsFile) ? (JSON.parse(readFileSync(resultsFile, 'utf8')) as Results) : undefined;
}

function requestedFiles(): string[] {
  if (values.unit !== true) return testFiles();
  const reachable = new Map<string, boolean>();
  return testFiles().filter((file) => isQuick(file, committedDurations()) && isUnitTest(file, reachable));
}

function inOrder(files: readonly string[]): string[] {
  if (values.seed !== undefined) {
    process.stdout.write(`The order of the files comes from --seed ${String(values.seed)}.\n`);
    return shuffled(files, Number(values.seed));
  }
  const ordered = longestFirst(files, committedDurations());
  return typeof values.grep === 'string' ? likeliestFirst(ordered, values.grep) : ordered;
}
