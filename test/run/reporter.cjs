/** The reporter of `npm test`: mocha's own, and then, as the very last line, `N passed, N failed`. */
const { reporters } = require('mocha');

class SummaryReporter extends reporters.Spec {
  /** Called when everything is over, the stop of the stack included: nothing is printed after this. */
  done(failures, finish) {
    const { passes, pending } = this.stats;
    const skipped = pending > 0 ? `, ${pending} skipped` : '';
    process.stdout.write(`\n${passes} passed, ${failures} failed${skipped}\n`);
    finish(failures);
  }
}

module.exports = SummaryReporter;
