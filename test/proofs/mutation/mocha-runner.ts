/**
 * How Stryker runs our tests: mocha in its process, the files loaded once, then for each mutant the tests that reach it. Stryker's own
 * runner for mocha (10.0.0) looks for files that mocha 12 has no more: delete this one when it finds them.
 */
import path from 'node:path';
import { INSTRUMENTER_CONSTANTS, type InstrumenterContext, type StrykerOptions } from '@stryker-mutator/api/core';
import { commonTokens, declareClassPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin';
import {
  determineHitLimitReached,
  DryRunStatus,
  TestStatus,
  toMutantRunResult,
  type DryRunOptions,
  type DryRunResult,
  type MutantRunOptions,
  type MutantRunResult,
  type TestResult,
  type TestRunner,
} from '@stryker-mutator/api/test-runner';
import fc from 'fast-check';
import Mocha, { type Runnable, type Suite, type Test } from 'mocha';
import type * as Lifecycle from '../../run/lifecycle.ts';

/** Longer than any test of pure rules; Stryker ends what does not come back. */
const testMs = 20_000;

class OurMochaRunner implements TestRunner {
  static inject = tokens(commonTokens.options);
  readonly #files: readonly string[];
  readonly #instrumented = instrumented();
  #mocha: Mocha | undefined;
  #begins: ((test: Test) => void) | undefined;

  constructor({ testFiles }: StrykerOptions) {
    this.#files = testFiles;
  }

  /** What was imported stays: for what a file does while it loads, Stryker takes a new process. */
  capabilities() {
    return { reloadEnvironment: false };
  }

  async dryRun({ coverageAnalysis, disableBail }: DryRunOptions): Promise<DryRunResult> {
    this.#begins = (test) => (this.#instrumented.currentTestId = test.fullTitle());
    const result = await this.#run(!disableBail);
    this.#begins = undefined;
    const { mutantCoverage } = this.#instrumented;
    if (result.status !== DryRunStatus.Complete || coverageAnalysis === 'off' || !mutantCoverage) return result;
    return { ...result, mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, disableBail, hitLimit }: MutantRunOptions): Promise<MutantRunResult> {
    Object.assign(this.#instrumented, { hitLimit, hitCount: hitLimit === undefined ? undefined : 0 });
    const titles = testFilter?.filter((one) => !path.isAbsolute(one)) ?? []; // for all tests, it names their files
    return toMutantRunResult(await this.#run(!disableBail, activeMutant.id, titles));
  }

  /** @param titles of the tests; of all, where it is empty */
  async #run(bails: boolean, mutant?: string, titles: readonly string[] = []): Promise<DryRunResult> {
    try {
      const context = this.#instrumented as { activeMutant?: string | undefined };
      context.activeMutant = mutant; // before files load, too: Stryker takes a new process for what they do then
      const mocha = (this.#mocha ??= await this.#load());
      bail(mocha.suite, bails);
      mocha.grep(new RegExp(titles.map((title) => `^${title.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`).join('|')));
      const tests = await new Promise<TestResult[]>((resolve) => {
        const found: TestResult[] = [];
        const runner = mocha.run(() => resolve(found));
        runner.on('pass', (test) => found.push({ ...resultOf(test), status: TestStatus.Success }));
        runner.on('fail', (test, error: Error) =>
          found.push({ ...resultOf(test), status: TestStatus.Failed, failureMessage: error.message }),
        );
      });
      const { hitCount, hitLimit } = this.#instrumented;
      return determineHitLimitReached(hitCount, hitLimit) ?? { status: DryRunStatus.Complete, tests };
    } catch (error) {
      return {
        status: DryRunStatus.Error,
        errorMessage: error instanceof Error ? (error.stack ?? String(error)) : String(error),
      };
    }
  }

  /** From the copy of the project that has the changes: Stryker runs us in its directory. */
  async #load(): Promise<Mocha> {
    const inCopy = (file: string): Promise<unknown> => import(path.join(process.cwd(), file));
    await inCopy('platform/load.mjs');
    fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true }); // a shorter example would only take time
    const { fileEnded, testEnded } = (await inCopy('test/run/lifecycle.ts')) as typeof Lifecycle;
    const mocha = new Mocha({
      reporter: Silent,
      timeout: testMs,
      rootHooks: { afterEach: testEnded, afterAll: fileEnded },
    });
    mocha.cleanReferencesAfterRun(false); // it runs again for each mutant
    for (const file of this.#files) mocha.addFile(file);
    const begins = (test: Test | undefined) => test && this.#begins?.(test);
    mocha.suite.beforeEach(function () {
      begins(this.currentTest);
    });
    await mocha.loadFilesAsync();
    return mocha;
  }
}

/** The results go to Stryker alone. */
class Silent extends Mocha.reporters.Base {}

/** What Stryker has put into the changed files reads and writes this. */
function instrumented(): InstrumenterContext {
  const everywhere = globalThis as unknown as Record<string, InstrumenterContext>;
  return (everywhere[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {});
}

function bail(suite: Suite, bails: boolean): void {
  suite.bail(bails);
  for (const inner of suite.suites) bail(inner, bails);
}

/** A hook that fails has no name that says more than its own. */
const resultOf = (test: Runnable) => ({
  id: test.fullTitle(),
  name: test.fullTitle(),
  timeSpentMs: test.duration ?? 0,
  ...(test.file !== undefined && { fileName: test.file }),
});

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'our-mocha', OurMochaRunner)];
