/**
 * `npm run prove -- faults NAME`, with a name from `suites`, kills processes
 * while they work, and counts the losses.
 */
import { interruption } from '../../../dev/interruption.ts';
import { runScript } from '../../../dev/problem.ts';
import { agentFaults } from './agents.ts';
import { automationFaults } from './automations.ts';
import { callerFaults } from './callers.ts';
import { campaignFaults } from './campaigns.ts';
import { deployFaults } from './deploy.ts';
import { digestFaults } from './digests.ts';
import { erasureFaults } from './erasure.ts';
import { mediaFaults } from './media.ts';
import { mentorshipFaults } from './mentorships.ts';
import { overageFaults } from './overage.ts';
import { restoreFaults } from './restore.ts';
import { webhookFaults } from './webhooks.ts';

/**
 * `args` are the arguments after the name of the proof.
 * @returns the exit code
 */
const suites: Readonly<Record<string, (interrupted: Promise<unknown>, args: readonly string[]) => Promise<number>>> = {
  webhooks: webhookFaults,
  agents: agentFaults,
  campaigns: campaignFaults,
  automations: automationFaults,
  media: mediaFaults,
  mentorships: mentorshipFaults,
  digests: digestFaults,
  overage: overageFaults,
  erasure: erasureFaults,
  deploy: deployFaults,
  restore: restoreFaults,
  callers: callerFaults,
};

await runScript(async () => {
  const [chosenName = '', ...args] = process.argv.slice(2);
  const suite = Object.entries(suites).find(([name]) => name === chosenName)?.[1];
  if (suite) return suite(interruption(), args);
  process.stderr.write(`Name a proof: npm run prove -- faults ${Object.keys(suites).join(' | ')}\n`);
  return 2;
});
