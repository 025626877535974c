/** A run ends at its next step if its row is missing in Postgres, for example after a restore. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect } from 'chai';
import { activities, type ActivityDeps } from '../../activities/index.ts';
import { newId } from '../../platform/core/ids.ts';
import { workflowTypeNames, type WorkflowType } from '../../platform/engine/workflow-types.ts';
import { activitiesOf, nothingInjected } from '../replay/recorder.ts';
import { useAnswering } from '../toolkit/drive/answering.ts';
import { useDeliveries } from '../toolkit/stack/receivers.ts';

type Step = (rowId: string, now: number) => Promise<unknown>;

const outcomes: Readonly<Record<WorkflowType, unknown>> = {
  webhookDelivery: 'canceled',
  endpointGate: 'deleted',
  addOn: 'failed',
  overageCharge: 'failed',
  transactionalMail: 'canceled',
  phoneCode: 'canceled',
  personErasure: 'gone',
  mentorshipSession: 'gone',
  mediaExpiry: 'removed',
  salesNotice: 'ignored',
  subscriptionEnd: 'revoked',
  studentImport: 'canceled',
  bulkJob: 'canceled',
  clubExport: 'expired',
  agentAnswer: { status: 'gone' },
  campaignRun: 'draft',
  testMail: 'canceled',
  mailDomain: 'removed',
  automationRun: 'exited',
  automationGate: 'archived',
  sourceIndex: 'gone',
  mediaProcessing: 'removed',
  mediaMove: 'gone',
  mediaTranscription: 'gone',
  clubErasure: 'canceled',
  studentExport: 'gone',
  courseCompletion: 'judged',
  spaceFill: 'filled',
  spaceDigest: 'gone',
};

describe('a step whose row does not exist', () => {
  const delivering = useDeliveries();
  const answering = useAnswering();
  let steps: Readonly<Record<string, Step>> = {};
  before('create the activities of every queue', async () => {
    const alone = { carryingAfterEach: <T extends object>(some: T) => some };
    const parts = { delivering: delivering(), injected: nothingInjected() };
    steps = Object.assign({}, ...Object.values(await activitiesOf(parts, alone, await answering.deps())));
  });

  for (const type of workflowTypeNames)
    it(`ends the workflow run of type ${type}`, async () => {
      const [name = ''] = Object.keys(activities[type]({} as ActivityDeps));
      const rowId = type === 'spaceDigest' ? `${newId()}/2026-01-01` : newId();
      const ended = await new MockActivityEnvironment().run(steps[name] as Step, rowId, Date.now());
      expect(ended).to.deep.equal({ done: true, outcome: outcomes[type] });
    });
});
