/**
 * Runs our tests for Stryker. mocha loads the test files once, and for each mutant runs the tests that reach it. The mocha runner of
 * Stryker 10.0.0 needs files that mocha 12 does not have. Delete this runner when Stryker supports mocha 12.
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

/** The time limit of mocha. Each test of pure rules is faster. Stryker ends tests that never return. */
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

  /** Imported modules stay loaded. Stryker starts a new process for mutants that change the loading of a file. */
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
    const titles = testFilter?.filter((one) => !path.isAbsolute(one)) ?? []; // Stryker passes file names to request all tests
    return toMutantRunResult(await this.#run(!disableBail, activeMutant.id, titles));
  }

  /** @param titles the titles of the tests to run; empty for all tests */
  async #run(bails: boolean, mutant?: string, titles: readonly string[] = []): Promise<DryRunResult> {
    try {
      const context = this.#instrumented as { activeMutant?: string | undefined };
      context.activeMutant = mutant; // set before files load, so that mutants in loading code take effect
      const mocha = (this.#mocha ??= await this.#load());
      bail(mocha.suite, bails);
      mocha.grep(new RegExp(titles.map((title) => `^${title.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`).join('|')));
      const tests = await new Promise<TestResult[]>((resolve) => {
        const results: TestResult[] = [];
        const runner = mocha.run(() => resolve(results));
        runner.on('pass', (test) => results.push({ ...resultOf(test), status: TestStatus.Success }));
        runner.on('fail', (test, error: Error) =>
          results.push({ ...resultOf(test), status: TestStatus.Failed, failureMessage: error.message }),
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

  /** Loads the files from the mutated copy of the project, which is the working directory. */
  async #load(): Promise<Mocha> {
    const inCopy = (file: string): Promise<unknown> => import(path.join(process.cwd(), file));
    await inCopy('platform/load.mjs');
    fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true }); // shrinking an example would only cost time
    const { fileEnded, testEnded } = (await inCopy('test/run/lifecycle.ts')) as typeof Lifecycle;
    const mocha = new Mocha({
      reporter: Silent,
      timeout: testMs,
      rootHooks: { afterEach: testEnded, afterAll: fileEnded },
    });
    mocha.cleanReferencesAfterRun(false); // mocha runs again for each mutant
    for (const file of this.#files) mocha.addFile(file);
    const begins = (test: Test | undefined) => test && this.#begins?.(test);
    mocha.suite.beforeEach(function () {
      begins(this.currentTest);
    });
    await mocha.loadFilesAsync();
    return mocha;
  }
}

/** A reporter that prints nothing, because only Stryker reads the results. */
class Silent extends Mocha.reporters.Base {}

function instrumented(): InstrumenterContext {
  const everywhere = globalThis as unknown as Record<string, InstrumenterContext>;
  return (everywhere[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {});
}

function bail(suite: Suite, bails: boolean): void {
  suite.bail(bails);
  for (const inner of suite.suites) bail(inner, bails);
}

const resultOf = (test: Runnable) => ({
  id: test.fullTitle(),
  name: test.fullTitle(),
  timeSpentMs: test.duration ?? 0,
  ...(test.file !== undefined && { fileName: test.file }),
});

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'our-mocha', OurMochaRunner)];
