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

/** In the first process of the run. Unit tests do without the server: a test of theirs that asks for it fails. */
export async function mochaGlobalSetup(): Promise<void> {
  if (process.env['TEST_UNIT']) return;
  const { startRunServer } = await import('./server.ts');
  server = await startRunServer(Number(process.env['TEST_JOBS'] ?? 1));
  process.env['TEST_RUN_URL'] = server.url;
}

/** In the first process of the run. */
export async function mochaGlobalTeardown(): Promise<void> {
  await server?.stop();
}

/** No test ends for want of time before this; files and tests may ask for more. */
const leastTimeLimitMs = 60_000;

let begun = { at: 0, cpu: process.cpuUsage() };

/** In every process; where files run in several processes, `beforeAll` and `afterAll` are those of each file. */
export const mochaHooks = {
  beforeAll: async function checkFile(this: Context): Promise<void> {
    begun = { at: performance.now(), cpu: process.cpuUsage() };
    const hooks = strayHooks(rootOf(this));
    if (hooks.length > 0) {
      throw new Error(`Move these hooks of ${fileOf(rootOf(this))} into a describe: ${hooks.join(', ')}.`);
    }
    this.timeout(120_000); // the first files wait for the stack: their own hooks have less time
    const base = process.env['TEST_RUN_URL'];
    const file = path.relative(projectDirectory, fileOf(rootOf(this)));
    if (base && !file.startsWith('..') && !isUnitTest(file)) await (await fetch(`${base}/ready`)).text();
  },
  beforeEach: function giveTime(this: Context): void {
    // Time limits end what hangs. A test that goes on after its limit spoils those behind it, so a busy machine gets time.
    const test = this.currentTest;
    if (test && test.timeout() > 0) test.timeout(Math.max(test.timeout(), leastTimeLimitMs));
  },
  afterEach: async function endTest(this: Context): Promise<void> {
    tellCause(this.currentTest?.err);
    await testEnded();
  },
  afterAll: async function endFile(this: Context): Promise<void> {
    this.timeout(60_000); // what a file has opened may take a moment to close
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

/** A generated test says which case failed; why it did is the cause of its error, which does not leave this process. */
function tellCause(error: Error | undefined): void {
  if (error?.cause instanceof Error) error.stack = `${error.stack}\n\n  Caused by ${error.cause.stack}`;
}

const own = new Set<unknown>([mochaHooks.beforeAll, mochaHooks.beforeEach, mochaHooks.afterEach, mochaHooks.afterAll]);

/** Hooks of the root suite that are not ours. */
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
  if (!suite) throw new Error('A root hook belongs to the root suite.');
  return suite;
}

function fileOf(root: Suite): string {
  return root.suites[0]?.file ?? root.tests[0]?.file ?? '';
}
