/**
 * Provides a Temporal test server that skips time. Each test file has its own server, because all workflows of a server share its clock.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import type { Context, Test } from 'mocha';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';

/** The script that starts the server, and ends the server when this process has ended, however it ends. */
const guarded = fileURLToPath(new URL('../../../dev/components/while-parent-lives.sh', import.meta.url));

const startTimeoutMs = 60_000;

/**
 * Starts a time-skipping environment before the tests of a `describe`, and ends the environment after them. Call this function in the
 * `describe`.
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
    // After a time-out, a test may still wait for an answer of this server. If the server stopped now, the error of that test would appear
    // in the next test file.
    if (!isStuck) await environment?.teardown();
  });
  return () => {
    if (environment === undefined) throw new Error('The time-skipping server runs only during tests');
    return environment;
  };
}

async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  quietRuntime();
  // The SDK starts a script of this project, which starts the real server. This variable tells the script the path of the server.
  process.env[components.testServer.variable] = await locate(components.testServer);
  const start = () =>
    TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path: guarded } } });
  // The SDK waits only 5 s for the start of the server's JVM. A busy machine can need longer, so a failed start is repeated.
  return start().catch(start).catch(start).catch(start).catch(start);
}

/**
 * The message of a known fault of the test server. If a signal arrives just when time skipping has fired a timer, the server sometimes
 * refuses a workflow task, and the run never continues. The real server has no such fault. A test that fails after this fault is repeated
 * once, and the reporter prints the repetition (test/run/reporter.cjs). No other failure is repeated.
 */
const serverFault = 'invalid history builder state for action';
let serverFaults = 0;

/** A test fails this long before the time limit of mocha, so that the error message can contain the cause. */
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
 * Sets up the runtime of the SDK. The runtime prints only errors of the SDK's log, and counts warnings about the known fault of the test
 * server. If another test has already set up the runtime, the runtime does not change.
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
