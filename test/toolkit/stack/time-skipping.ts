/** Time-skipping workflow tests: a Temporal test server of its own for each test file, because its clock is global. */
import { fileURLToPath } from 'node:url';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';

/** Starts the server and ends it when this process has gone, however it ended. */
const guarded = fileURLToPath(new URL('../../../dev/components/while-parent-lives.sh', import.meta.url));

const startTimeoutMs = 60_000;

/**
 * Call it in a `describe`: starts a time-skipping environment before its tests and ends it after them.
 * @returns a function that gives the environment, for use inside the tests
 */
export function useTimeSkipping(): () => TestWorkflowEnvironment {
  let environment: TestWorkflowEnvironment | undefined;
  before('start the time-skipping server', async function () {
    this.timeout(startTimeoutMs);
    environment = await startTimeSkipping();
  });
  let isStuck = false;
  afterEach(function () {
    isStuck ||= this.currentTest?.timedOut ?? false;
  });
  after('stop the time-skipping server', async () => {
    // A test that ran out of time still awaits an answer: without its server that would end in the next file. The server
    // ends with this process.
    if (!isStuck) await environment?.teardown();
  });
  return () => {
    if (environment === undefined) throw new Error('The time-skipping server runs only while tests do.');
    return environment;
  };
}

async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  quietRuntime();
  // The SDK passes the server nothing but a port; the script takes its command from here.
  process.env[components.testServer.variable] = await locate(components.testServer);
  const start = () =>
    TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path: guarded } } });
  // The SDK gives the server's JVM 5 s to start, which a busy machine can miss; it can be asked again.
  return start().catch(start).catch(start);
}

/** The SDK's log is for production; here only its warnings matter. Another test may have set the runtime up already. */
export function quietRuntime(): void {
  try {
    Runtime.install({ logger: new DefaultLogger('WARN') });
  } catch {
    // It is as that test wants it.
  }
}
