import { agentAnswerActivities } from '../../activities/agent-answer.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import type { agentAnswer } from '../../workflows/index.ts';
import { answerRow, callRows } from '../toolkit/assert/answers.ts';
import { eventsNamed, keptOf, summariesOf } from '../toolkit/assert/histories.ts';
import { buildQuestion } from '../toolkit/builders/questions.ts';
import { useAnswering } from '../toolkit/drive/answering.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { expect } from 'chai';

const second = 1_000;

describe('the workflow run that generates an answer', function () {
  this.timeout(30 * second);
  const timeSkipping = useTimeSkipping();
  const answering = useAnswering();
  const environment = (): TestWorkflowEnvironment => timeSkipping();
  let worker: { stop(): Promise<void> };
  before('start a worker', async () => {
    const activities = agentAnswerActivities(await answering.deps());
    worker = await runWorkerHere(environment().nativeConnection, { taskQueue: 'agents', activities });
  });
  after('stop the worker, before its server', () => worker.stop());

  const ask = async () => buildQuestion({ acceptedAt: new Date(await environment().currentTimeMs()) });
  const start = (questionId: string) =>
    environment().client.workflow.start<typeof agentAnswer>('agentAnswer', {
      workflowId: workflowIdOf('agentAnswer', questionId),
      taskQueue: 'agents',
      args: [questionId],
    });

  it('returns numbers and ids, but no text', async () => {
    const { questionId, answerId } = await ask();
    answering.model().next({ answer: ['Ten ', 'minutes.'] });
    const handle = await start(questionId);
    const result = await handle.result();
    const [call] = await callRows(answerId);
    expect(result).to.deep.equal({
      status: 'complete',
      model: 'claude-sonnet-5-5',
      calls: 1,
      input_tokens: call?.inputTokens,
      output_tokens: call?.outputTokens,
      cache_write_tokens: 0,
      cache_read_tokens: 0,
      cost_micros: Number(call?.costMicros),
      abandoned_micros: 0,
    });
    const history = await handle.fetchHistory();
    expect(eventsNamed(history, 'activityTaskScheduledEventAttributes')).to.have.length(1);
    const storedText = await keptOf(handle);
    expect(storedText).to.contain('claude-sonnet-5-5');
    expect(storedText).not.to.contain('minutes');
  });

  it('calls an overloaded model again after 1 s and 4 s, and then fails', async () => {
    const { questionId, answerId } = await ask();
    answering.model().next({ refuse: 529 }, { refuse: 529 }, { refuse: 529 });
    const handle = await start(questionId);
    expect(await handle.result()).to.include({ status: 'failed', error_code: 'model_overloaded', calls: 3 });
    const calls = await callRows(answerId);
    const at = calls.map(({ startedAt }) => startedAt.getTime());
    expect((at[1] ?? 0) - (at[0] ?? 0)).to.be.within(second, 2 * second);
    expect((at[2] ?? 0) - (at[1] ?? 0)).to.be.within(4 * second, 5 * second);
    const { timers } = await summariesOf(handle);
    expect(timers.map((timer) => timer.replace(/ (at once|in about .*)$/, ''))).to.deep.equal([
      'request 2 of 3 to the model',
      'request 3 of 3 to the model',
    ]);
  });

  it('waits before it calls the model again, even if it gets a signal', async () => {
    const { questionId, answerId } = await ask();
    answering.model().next({ refuse: 429, retryAfterS: 60 }, { answer: ['Yes.'] });
    const handle = await start(questionId);
    await until(
      'the refusal',
      { timeoutMs: 5 * second },
      async () => (await callRows(answerId))[0]?.outcome === 'failed',
    );
    await handle.signal('lookAgain');
    await handle.signal('lookAgain');
    expect(await handle.result()).to.include({ status: 'complete', calls: 2 });
    const [first, again] = await callRows(answerId);
    expect((again?.startedAt.getTime() ?? 0) - (first?.startedAt.getTime() ?? 0)).to.be.within(
      60 * second,
      62 * second,
    );
  });

  it('fails, but keeps the received text, if the worker died after the first word', async () => {
    const { questionId, answerId } = await ask();
    const source = await testDatabase();
    await source.query(
      `UPDATE agent_answers SET call_no = 1, begun_at = created_at, lease_until = clock_timestamp() + interval '1 h' WHERE id = $1`,
      [answerId],
    );
    await source.query(
      `INSERT INTO agent_calls (answer_id, call_no, model, started_at, input_tokens) VALUES ($1, 1, 'claude-sonnet-5-5', now(), 1000)`,
      [answerId],
    );
    await source.query(
      `INSERT INTO agent_answer_deltas (answer_id, starts_at, text) VALUES ($1, 0, 'One '), ($1, 4, 'two')`,
      [answerId],
    );
    const handle = await start(questionId);
    await until('a look', { timeoutMs: 5 * second }, async () => (await summariesOf(handle)).timers.length > 0);
    // Leases use the clock of the database, which time skipping does not move.
    await source.query(`UPDATE agent_answers SET lease_until = clock_timestamp() WHERE id = $1`, [answerId]);
    expect(await handle.result()).to.include({ status: 'failed', error_code: 'interrupted', calls: 1 });
    expect(await answerRow(answerId)).to.include({ content: 'One two' });
    // 1,000 input tokens at 2 dollars per million, and an estimate of 3 output tokens at 10 dollars per million.
    expect((await callRows(answerId))[0]).to.include({ outputTokens: 3, estimated: true, costMicros: '2030' });
    expect(answering.model().requests).to.have.length(0);
  });
});
