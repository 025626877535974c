/**
 * Scenarios: campaigns that wait for their start time, for a mail server that temporarily refuses mails, or for an administrator who
 * resumes the campaign.
 */
import { pauseCampaign, resumeCampaign, scheduleCampaign } from '../../../domain/campaigns/states.ts';
import type { WorkflowHandle } from '@temporalio/client';
import { requestTestMail } from '../../../domain/campaigns/drafts/test-mails.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildCampaign } from '../../toolkit/builders/campaigns.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import { testStack } from '../../toolkit/stack/stack.ts';
import type { Recorder, Scenarios } from '../recorder.ts';

const week = 7 * 24 * 3_600_000;

/** Creates a campaign that begins in a week. It has one student, and the mail server refuses the student's mail once. */
async function inAWeek({ skipped }: Recorder): Promise<{ clubId: Id; campaignId: Id; now: Date }> {
  const now = await skipped.now();
  const { club, campaignId } = await buildCampaign(now);
  const student = await buildStudent(club.id);
  const { mailbox } = await testStack();
  mailbox.failNext({ at: 'rcpt', reply: 451, to: student.email, times: 1 });
  const start = new Date(now.getTime() + week).toISOString().slice(0, 16);
  await scheduleCampaign(await testDeps(), club.id, campaignId, start, now);
  return { clubId: club.id, campaignId, now };
}

/** Requests a test mail of a draft. The mail server refuses this mail once. */
async function testMail(recorder: Recorder): Promise<WorkflowHandle> {
  const now = await recorder.skipped.now();
  const { club, campaignId } = await buildCampaign(now);
  const { mailbox } = await testStack();
  mailbox.failNext({ at: 'rcpt', reply: 451, to: club.owner.email, times: 1 });
  const { id } = await requestTestMail(await testDeps(), club.id, campaignId, club.owner.id, now);
  return recorder.skipped.start('testMail', 'campaigns', id);
}

export const campaignScenarios: Scenarios = {
  testMail: { 'refused-then-sent': testMail },
  campaignRun: {
    'scheduled-then-sent': async (recorder) => {
      const { campaignId } = await inAWeek(recorder);
      return recorder.skipped.start('campaignRun', 'campaigns', campaignId);
    },
    'paused-then-resumed': async (recorder) => {
      const { clubId, campaignId, now } = await inAWeek(recorder);
      const deps = await testDeps();
      await pauseCampaign(deps, clubId, campaignId, now);
      const run = await recorder.skipped.start('campaignRun', 'campaigns', campaignId);
      await resumeCampaign(deps, clubId, campaignId, await recorder.skipped.now());
      await run.signal('lookAgain');
      return run;
    },
  },
};
