/**
 * Records the histories that replay.test.ts replays: `npm exec mocha test/replay/record.ts`, then `npm run format`.
 *
 * Only scenarios without a file are recorded. A committed history stands for runs that are waiting somewhere, so it must go
 * on replaying, for as long as a run can last (30 days for a delivery). After a change of a workflow that needs new
 * histories, rename the old file (`failure-then-success-until-<date>.json`) and record the scenario again beside it.
 */
import { commitHistory, isCommitted } from '../toolkit/drive/replay.ts';
import { useRecorder, type Scenarios } from './recorder.ts';
import { agentScenarios } from './scenarios/agents.ts';
import { automationScenarios } from './scenarios/automations.ts';
import { campaignScenarios } from './scenarios/campaigns.ts';
import { mentorshipScenarios } from './scenarios/mentorships.ts';
import { communityScenarios } from './scenarios/community.ts';
import { mediaScenarios } from './scenarios/media.ts';
import { mailScenarios } from './scenarios/mail.ts';
import { salesScenarios } from './scenarios/sales.ts';
import { studentImportScenarios } from './scenarios/student-imports.ts';
import { webhookScenarios } from './scenarios/webhooks.ts';

const scenarios: Scenarios = {
  ...webhookScenarios,
  ...automationScenarios,
  ...campaignScenarios,
  ...communityScenarios,
  ...mailScenarios,
  ...mediaScenarios,
  ...mentorshipScenarios,
  ...salesScenarios,
  ...studentImportScenarios,
  ...agentScenarios,
};

describe('recording histories', function () {
  this.timeout(120_000);
  const recorder = useRecorder();

  for (const [workflow, plays] of Object.entries(scenarios))
    for (const [scenario, play] of Object.entries(plays))
      it(`${workflow}/${scenario}`, async function () {
        if (isCommitted(workflow, scenario)) return this.skip();
        const handle = await play(recorder());
        await handle.result();
        commitHistory(workflow, scenario, await handle.fetchHistory());
      });
});
