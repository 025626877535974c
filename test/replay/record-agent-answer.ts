/** Records the histories of answers, as record.ts does those of the webhook engine, which says when: `npm exec mocha test/replay/record-agent-answer.ts`. */
import { Client, type WorkflowClient as TemporalClient } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { agentAnswerActivities } from '../../activities/agent-answer.ts';
import { readConfig } from '../../config.ts';
import { workflowIdOf } from '../../domain/facts/workflow-names.policy.ts';
import { createWorkflowClient, type WorkflowClient } from '../../worker/workflow-client.ts';
import { useAnswering } from '../toolkit/drive/answering.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { buildQuestion, type TestQuestion } from '../toolkit/builders/questions.ts';
import { commitHistory, isCommitted, recorder } from '../toolkit/drive/replay.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

describe('recording histories of answers', function () {
  this.timeout(60_000);
  const answering = useAnswering();
  let worker: { stop(): Promise<void> };
  let temporal: TemporalClient;
  let workflows: WorkflowClient;
  after('stop the worker', () => worker.stop());

  before('start a worker', async () => {
    await testStack();
    const { address, namespace } = readConfig().temporal;
    const connection = await NativeConnection.connect({ address });
    temporal = new Client({ connection, namespace }).workflow;
    workflows = createWorkflowClient(connection, namespace);
    const activities = agentAnswerActivities(await answering.platform());
    worker = await runWorkerHere(connection, { taskQueue: 'agents', namespace, identity: recorder, activities });
  });

  const record = (scenario: string, play: (question: TestQuestion, wake: () => Promise<void>) => Promise<void>) =>
    it(`agentAnswer/${scenario}`, async function () {
      if (isCommitted('agentAnswer', scenario)) return this.skip();
      const question = await buildQuestion();
      const { questionId, clubId, agentId } = question;
      const attributes = { ClubId: clubId, AgentId: agentId };
      await play(question, () =>
        workflows.startOrSignal({ workflowType: 'agentAnswer', subjectId: questionId, clubId, attributes }),
      );
      const handle = temporal.getHandle(workflowIdOf('agentAnswer', questionId));
      await handle.result();
      commitHistory('agentAnswer', scenario, await handle.fetchHistory());
    });

  record('complete', async (_, wake) => {
    answering.model().next({ answer: ['Ten ', 'minutes.'] });
    await wake();
  });
  record('overloaded-then-complete', async (_, wake) => {
    answering.model().next({ refuse: 529 }, { answer: ['Ten ', 'minutes.'] });
    await wake();
  });
  record('woken-while-asking', async (_, wake) => {
    answering.model().next({ answer: ['Ten ', 'minutes.'], delayMs: 1_000 });
    await wake();
    await answering.model().waitFor(1, 5_000);
    await wake();
  });
  record('interrupted', async ({ answerId }, wake) => {
    const source = await testDatabase();
    await source.query(
      `UPDATE agent_answers SET call_no = 1, begun_at = created_at, lease_until = clock_timestamp() + interval '2 s' WHERE id = $1`,
      [answerId],
    );
    await wake();
  });
});
