/** A short fuzz with a fixed seed, and the cases that longer runs found. `npm run prove -- fuzz` is the longer run. */
import { expect } from 'chai';
import { fuzz } from './fuzzing.ts';
import { outcomeOf, replay, type FuzzCase } from './replay.ts';
import { linesOf, neverSucceeded } from './report.ts';
import regressions from './regressions.json' with { type: 'json' };
import { openGround, type FuzzGround } from './world/ground.ts';

/** The time limit is far longer than the test needs, so a test that reaches the limit hangs. */
const limitMs = 300_000;

describe('contract fuzzing', function () {
  this.timeout(limitMs);
  let ground: FuzzGround;
  before(async () => {
    ground = await openGround();
  });
  after(() => ground.close());

  it('finds no failure in 3,600 requests of seed 3, which call every operation', async () => {
    const tally = await fuzz(ground, { seed: 3, requests: 3_600 });
    const failures = tally.failures.map(({ kind, what, curl }) => `${kind}\n${what}\n${curl ?? ''}`);
    expect(failures, linesOf(tally, 3).join('\n')).to.deep.equal([]);
    expect(linesOf(tally, 3).at(-1)).to.match(
      /^requests \d+, operations (\d+) of \1, failures 0, longest hold ms \d+ \(operation \w+\)$/,
    );
    // Most operations succeed at least once in 3,600 requests, although some calls name records of other clubs.
    expect(neverSucceeded(tally).length, 'operations that never succeeded').to.be.below(tally.byOperation.size / 7);
  });

  describe('the API', () => {
    for (const { name, steps, answers } of regressions as unknown as FuzzCase[]) {
      it(name, async () => {
        const { exchanges, failures } = await replay(ground, steps);
        expect(failures).to.deep.equal([]);
        expect(exchanges.map(outcomeOf).toSorted()).to.deep.equal(answers);
      });
    }
  });
});
