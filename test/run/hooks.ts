/** Loaded by mocha before the tests (see .mocharc.json): stops at the end what a test started at first use. */
import { stopTestStack } from '../toolkit/stack/stack.ts';

export async function mochaGlobalTeardown(): Promise<void> {
  await stopTestStack();
}
