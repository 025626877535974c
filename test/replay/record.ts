/**
 * Records the histories that replay.test.ts replays: `npm exec mocha test/replay/record.ts`, then `npm run format`.
 *
 * Records only the scenarios that have no file yet. Installations may still have open runs with such a history. The code must therefore
 * replay a history for as long as a run can last (30 days for a delivery). If a change of a workflow needs new histories,
 * rename the old file (`failure-then-success-until-<date>.json`) and record the scenario in a new file.
 */
import { commitHistory, isCommitted } from '../toolkit/drive/replay.ts';
import { useRecorder } from './recorder.ts';
import { playedScenarios } from './scenarios/index.ts';

describe('recording histories', function () {
  this.timeout(120_000);
  const recorder = useRecorder();

  for (const [workflow, plays] of Object.entries(playedScenarios))
    for (const [scenario, play] of Object.entries(plays))
      it(`${workflow}/${scenario}`, async function () {
        if (isCommitted(workflow, scenario)) return this.skip();
        const handle = await play(recorder());
        await handle.result();
        commitHistory(workflow, scenario, await handle.fetchHistory());
      });
});
