/**
 * The root hooks of every run, which mocha loads before the tests (see .mocharc.json). Mocha has one root suite per process. A hook outside
 * of a `describe` would run before every test of every file in that process.
 */
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import type { Context, Suite } from 'mocha';
import { projectDirectory } from '../../dev/project.ts';
import { recordDriverStatements, recordStatements } from '../statements/recording.ts';
import { isUnitTest } from './files.ts';
import { fileEnded, testEnded } from './lifecycle.ts';
import type { RunServer } from './server.ts';

let server: RunServer | undefined;

/**
 * Runs in the first process of the run, and starts the run server. A run of unit tests starts no server, and a unit test that requests the
 * server fails.
 */
export async function mochaGlobalSetup(): Promise<void> {
  if (process.env['TEST_UNIT']) return;
  const { startRunServer } = await import('./server.ts');
  server = await startRunServer(Number(process.env['TEST_JOBS'] ?? 1));
  process.env['TEST_RUN_URL'] = server.url;
}

/** Runs in the first process of the run. */
export async function mochaGlobalTeardown(): Promise<void> {
  await server?.stop();
}

/** The minimum timeout of a test. Files and tests may set a longer timeout. */
const leastTimeLimitMs = 60_000;

recordStatements(); // This call runs in every process of the run.

let fileStart = { at: 0, cpu: process.cpuUsage() };

/** Hooks that run in every process. In a parallel run, `beforeAll` and `afterAll` run once for each file. */
export const mochaHooks = {
  beforeAll: async function checkFile(this: Context): Promise<void> {
    fileStart = { at: performance.now(), cpu: process.cpuUsage() };
    const hooks = strayHooks(rootOf(this));
    if (hooks.length > 0) {
      throw new Error(`Move these hooks of ${fileOf(rootOf(this))} into a describe: ${hooks.join(', ')}.`);
    }
    this.timeout(120_000); // The first files wait until the stack has started. This may take longer than the timeouts of their own hooks.
    const base = process.env['TEST_RUN_URL'];
    const file = path.relative(projectDirectory, fileOf(rootOf(this)));
    if (base && !file.startsWith('..') && !isUnitTest(file)) {
      await recordDriverStatements();
      await (await fetch(`${base}/ready`)).text();
    }
  },
  beforeEach: function giveTime(this: Context): void {
    // Time limits end tests that hang. They are long, because a slow test that continues after its limit disturbs the next tests.
    const test = this.currentTest;
    if (test && test.timeout() > 0) test.timeout(Math.max(test.timeout(), leastTimeLimitMs));
  },
  afterEach: async function endTest(this: Context): Promise<void> {
    tellCause(this.currentTest?.err);
    await testEnded();
  },
  afterAll: async function endFile(this: Context): Promise<void> {
    this.timeout(60_000); // The connections that the file opened may need some time to close.
    await fileEnded();
    const timings = process.env['TEST_TIMINGS'];
    if (!timings) return;
    const { user, system } = process.cpuUsage(fileStart.cpu);
    const timing = {
      file: fileOf(rootOf(this)),
      ms: Math.round(performance.now() - fileStart.at),
      cpuMs: Math.round((user + system) / 1_000),
    };
    appendFileSync(timings, `${JSON.stringify(timing)}\n`);
  },
};

/**
 * Adds the cause of an error to its stack. The error of a generated test names the case, and the cause of the error names the reason. In a
 * parallel run, mocha does not transfer the cause from the test process.
 */
function tellCause(error: Error | undefined): void {
  if (error?.cause instanceof Error) error.stack = `${error.stack}\n\n  Caused by ${error.cause.stack}`;
}

const own = new Set<unknown>([mochaHooks.beforeAll, mochaHooks.beforeEach, mochaHooks.afterEach, mochaHooks.afterAll]);

/** Returns the hooks of the root suite that other files define. */
function strayHooks(root: Suite): string[] {
  const kinds = ['_beforeAll', '_beforeEach', '_afterEach', '_afterAll'] as const;
  type Hooks = Record<(typeof kinds)[number], readonly { title: string; fn?: unknown }[]>;
  return kinds.flatMap((kind) =>
    (root as unknown as Hooks)[kind].filter(({ fn }) => !own.has(fn)).map(({ title }) => title),
  );
}

function rootOf(context: Context): Suite {
  let suite = context.test?.parent;
  while (suite?.parent) suite = suite.parent;
  if (!suite) throw new Error('The hook has no root suite.');
  return suite;
}

function fileOf(root: Suite): string {
  return root.suites[0]?.file ?? root.tests[0]?.file ?? '';
}
