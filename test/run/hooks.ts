/**
 * The hooks of every run, loaded by mocha before the tests (see .mocharc.json). Mocha has one root suite a file: a hook
 * that is declared outside of a `describe` would run before every test of every file that mocha runs in one process.
 */
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import type { Context, Suite } from 'mocha';
import { projectDirectory } from '../../dev/project.ts';
import { isUnitTest } from './files.ts';
import { fileEnded, testEnded } from './lifecycle.ts';
import type { RunServer } from './server.ts';

let server: RunServer | undefined;

/** Runs in the first process of the run. Unit tests do without the server: a unit test that asks for it fails. */
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

/** No test times out before this; files and tests may ask for more. */
const leastTimeLimitMs = 60_000;

let begun = { at: 0, cpu: process.cpuUsage() };

/** Run in every process. If files run in several processes, `beforeAll` and `afterAll` belong to each file. */
export const mochaHooks = {
  beforeAll: async function checkFile(this: Context): Promise<void> {
    begun = { at: performance.now(), cpu: process.cpuUsage() };
    const hooks = strayHooks(rootOf(this));
    if (hooks.length > 0) {
      throw new Error(`Move these hooks of ${fileOf(rootOf(this))} into a describe: ${hooks.join(', ')}.`);
    }
    this.timeout(120_000); // the first files wait for the stack, and their own hooks have less time
    const base = process.env['TEST_RUN_URL'];
    const file = path.relative(projectDirectory, fileOf(rootOf(this)));
    if (base && !file.startsWith('..') && !isUnitTest(file)) await (await fetch(`${base}/ready`)).text();
  },
  beforeEach: function giveTime(this: Context): void {
    // Time limits end tests that hang. A test that continues after its limit disturbs the next tests, so a busy machine gets time.
    const test = this.currentTest;
    if (test && test.timeout() > 0) test.timeout(Math.max(test.timeout(), leastTimeLimitMs));
  },
  afterEach: async function endTest(this: Context): Promise<void> {
    tellCause(this.currentTest?.err);
    await testEnded();
  },
  afterAll: async function endFile(this: Context): Promise<void> {
    this.timeout(60_000); // open connections of a file may take a moment to close
    await fileEnded();
    const timings = process.env['TEST_TIMINGS'];
    if (!timings) return;
    const { user, system } = process.cpuUsage(begun.cpu);
    const timing = {
      file: fileOf(rootOf(this)),
      ms: Math.round(performance.now() - begun.at),
      cpuMs: Math.round((user + system) / 1_000),
    };
    appendFileSync(timings, `${JSON.stringify(timing)}\n`);
  },
};

/**
 * A generated test reports which case failed. The cause of its error says why, but does not leave this process, so it is added to the
 * message.
 */
function tellCause(error: Error | undefined): void {
  if (error?.cause instanceof Error) error.stack = `${error.stack}\n\n  Caused by ${error.cause.stack}`;
}

const own = new Set<unknown>([mochaHooks.beforeAll, mochaHooks.beforeEach, mochaHooks.afterEach, mochaHooks.afterAll]);

/** Hooks of the root suite that this file does not define. */
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
