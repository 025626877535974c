/** Time-skipping workflow tests: each test file has its own Temporal test server, because the server's clock is global. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import type { Context, Test } from 'mocha';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';

/** Starts the server, and makes sure that the server ends after this process, however this process ends. */
const guarded = fileURLToPath(new URL('../../../dev/components/while-parent-lives.sh', import.meta.url));

const startTimeoutMs = 60_000;

/**
 * Call it in a `describe`: starts a time-skipping environment before its tests and ends it after them.
 * @returns a function that returns the environment, for use inside the tests
 */
export function useTimeSkipping(): () => TestWorkflowEnvironment {
  let environment: TestWorkflowEnvironment | undefined;
  before('start the time-skipping server', async function () {
    this.timeout(startTimeoutMs);
    environment = await startTimeSkipping();
  });
  let isStuck = false;
  beforeEach('repeat after the known fault of the server', function () {
    if (this.currentTest) repeatOnServerFault(this.currentTest, () => (isStuck = true));
  });
  after('stop the time-skipping server', async () => {
    // A test that exceeded its time limit still waits for an answer of this server. If the server stopped now, the test's error would
    // appear in the next test file. So the server runs until this process ends.
    if (!isStuck) await environment?.teardown();
  });
  return () => {
    if (environment === undefined) throw new Error('The time-skipping server runs only during tests');
    return environment;
  };
}

async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  quietRuntime();
  // The SDK starts a script of this project as its server, and gives it only a port. This variable tells the script where the real server
  // is.
  process.env[components.testServer.variable] = await locate(components.testServer);
  const start = () =>
    TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path: guarded } } });
  // The SDK gives the server's JVM 5 s to start, which a busy machine can miss; a start can be repeated.
  return start().catch(start).catch(start).catch(start).catch(start);
}

/**
 * The message of a fault of the test server. A signal may arrive just when time skipping has fired a timer. The server then sometimes
 * refuses a workflow task, and the run never continues. The real server has no such fault. A test that fails after this fault is repeated
 * once, and the reporter prints the repetition (test/run/reporter.cjs). No other failure is repeated.
 */
const serverFault = 'invalid history builder state for action';
let serverFaults = 0;

/** A test fails by itself this long before mocha's time limit. The message of its error then has the cause. */
const aheadOfMochaMs = 500;

function repeatOnServerFault(test: Test, onTimeOut: () => void): void {
  const { fn } = test;
  if (!fn) return;
  const faultsBefore = serverFaults;
  test.fn = async function (this: Context) {
    const timedOut = new AbortController();
    const limitMs = test.timeout() - aheadOfMochaMs;
    const limit = sleep(limitMs, undefined, { signal: timedOut.signal }).then(() => {
      onTimeOut();
      throw new Error(`The test did not end within ${limitMs} ms.`);
    });
    try {
      await Promise.race([(fn as () => unknown).call(this), limit]);
    } catch (error) {
      if (serverFaults > faultsBefore) test.retries(1);
      throw error;
    } finally {
      timedOut.abort();
      limit.catch(() => {});
    }
  };
}

/**
 * Prints only errors of the SDK's log, and counts the known fault of the test server in the warnings. If another test has already set up
 * the runtime, the runtime does not change.
 */
export function quietRuntime(): void {
  const logger = new DefaultLogger('WARN', ({ level, message, meta }) => {
    const line = `${message} ${inspect(meta)}`;
    if (line.includes(serverFault)) serverFaults += 1;
    if (level === 'ERROR') process.stderr.write(`${level} ${line}\n`);
  });
  try {
    Runtime.install({
      logger,
      telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
    });
  } catch {
    // Another test has set up the runtime, and its settings stay.
  }
}
