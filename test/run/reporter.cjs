/**
 * The reporter of `npm test`: mocha's own, then the ten slowest files and each repeated test. The last line is
 * `N passed, N failed`; under the launcher (main.ts), which prints it, the results go to the file TEST_RESULTS.
 */
const { readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { reporters } = require('mocha');

/** More in one run are not the known fault of the time-skipping server any more (toolkit/stack/time-skipping.ts). */
const maxRepeats = 3;
const slowestFiles = 10;

class SummaryReporter extends reporters.Spec {
  #repeats = [];
  #failures = [];

  constructor(runner, options) {
    super(runner, options);
    runner.on('retry', (test, error) => this.#repeats.push(`${test.fullTitle()}: ${error?.message ?? ''}`));
    runner.on('fail', (test, error) => {
      const [message = ''] = String(error?.message ?? '').split('\n', 1);
      this.#failures.push({ title: test.fullTitle(), file: test.file ?? '', message });
    });
  }

  /** Called when everything is over: nothing is printed after this. */
  done(failures, finish) {
    const lines = [];
    const slowest = filesByTime().slice(0, slowestFiles);
    if (slowest.length > 0) lines.push('The slowest files, with their hooks:');
    for (const { file, ms } of slowest) lines.push(`  ${(ms / 1_000).toFixed(1).padStart(6)} s  ${file}`);
    for (const repeat of this.#repeats) lines.push(`Repeated: ${repeat}`);
    const tooMany = this.#repeats.length > maxRepeats ? 1 : 0;
    if (tooMany) lines.push(`${this.#repeats.length} tests were repeated: more than ${maxRepeats} fail the run.`);
    if (lines.length > 0) process.stdout.write(`\n${lines.join('\n')}\n`);

    const { passes: passed, pending: skipped } = this.stats;
    const failed = failures + tooMany;
    const results = { passed, failed, skipped, failures: this.#failures };
    if (process.env.TEST_RESULTS) writeFileSync(process.env.TEST_RESULTS, JSON.stringify(results));
    else process.stdout.write(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
    finish(failed);
  }
}

/** What the root hooks have noted (hooks.ts): the longest first. */
function filesByTime() {
  if (!process.env.TEST_TIMINGS) return [];
  const lines = readFileSync(process.env.TEST_TIMINGS, 'utf8').split('\n').filter(Boolean);
  return lines
    .map((line) => JSON.parse(line))
    .map(({ file, ms }) => ({ file: path.relative(process.cwd(), file), ms }))
    .toSorted((one, other) => other.ms - one.ms);
}

module.exports = SummaryReporter;
