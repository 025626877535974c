/** Kills a worker at each failpoint of an answer. */
import { expect } from 'chai';
import { startFakeModel, type FakeModel, type Script } from '../../dev/fake-model/fake-model.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { AgentAnswer } from '../../entities/agents/agent-answer.ts';
import type { AgentCall } from '../../entities/agents/agent-call.ts';
import { answerRow, callRows, chargeRow, logOf, monthOf } from '../toolkit/assert/answers.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { buildQuestion, reservedMicros, type TestQuestion } from '../toolkit/builders/questions.ts';
import { until } from '../toolkit/drive/until.ts';
import { useWorkerProcesses } from '../toolkit/stack/worker.ts';

const second = 1_000;
const places = [
  'answer_claimed',
  'answer_called',
  'answer_begun',
  'answer_delta',
  'answer_ending',
  'answer_ended',
] as const;
type Place = (typeof places)[number];
const answer = ['One ', 'two ', 'three'];

interface Scene {
  question: TestQuestion;
  signal: NodeJS.Signals | null;
  remains: { row: AgentAnswer; calls: AgentCall[]; log: string; requestCount: number };
}

describe('an answer after its worker was killed', function () {
  this.timeout(300 * second);
  const startWorker = useWorkerProcesses('agents');
  const scenes = new Map<Place, Scene>();
  let model: FakeModel;

  const asks = (place: Place) =>
    model.requests.filter(({ body }) => JSON.stringify(body).includes(`At ${place}`)).length;
  const environment = () => ({ ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: model.url });

  before('kill a worker at each failpoint, and start another', async function () {
    this.timeout(240 * second);
    model = await startFakeModel();
    model.rule((_, request): Script => ({ answer, ...(request.includes('At answer_delta') && { delayMs: 500 }) }));
    for (const place of places) scenes.set(place, await killedAt(place));
    const source = await testDatabase();
    await startWorker(environment());
    const { db } = await testDeps();
    const questions = [...scenes.values()].map(({ question }) => question);
    await source.query(`UPDATE wakes SET lease_until = NULL`);
    // The two minutes for an answer must not end while workers start.
    await source.query(
      `UPDATE agent_answers SET lease_until = clock_timestamp(), created_at = clock_timestamp() WHERE lease_until IS NOT NULL`,
    );
    await db.transaction((tx) => wake(tx, 'agentAnswer', questions, new Date()));
    // Temporal gives an activity to another worker after 10 s without a heartbeat.
    await until('the end of all', { timeoutMs: 60 * second }, async () => {
      const rows = await Promise.all(questions.map(({ answerId }) => answerRow(answerId)));
      return rows.every(({ status }) => status !== 'generating');
    });
  });
  after('stop the model', () => model.stop());

  async function killedAt(place: Place): Promise<Scene> {
    const worker = await startWorker({ ...environment(), FAILPOINT: place });
    const question = await buildQuestion({ content: `At ${place}`, woken: true });
    const { signal } = await worker.exited;
    const { answerId } = question;
    const remains = {
      row: await answerRow(answerId),
      calls: await callRows(answerId),
      log: await logOf(answerId),
      requestCount: asks(place),
    };
    // The next worker must not find this answer, because it must be killed during its own answer.
    await (
      await testDatabase()
    ).query(
      `UPDATE agent_answers SET lease_until = clock_timestamp() + interval '1 hour' WHERE id = $1 AND status = 'generating'`,
      [answerId],
    );
    return { question, signal, remains: remains };
  }

  function sceneOf(place: Place): Scene {
    const scene = scenes.get(place);
    if (!scene) throw new Error('It was not played.');
    return scene;
  }

  const expectChargedOnce = async ({ answerId, clubId }: TestQuestion, micros: number) => {
    expect(Number((await chargeRow(answerId)).costMicros)).to.equal(micros);
    expect(await monthOf(clubId)).to.deep.equal({ spent: micros, reserved: 0 });
  };

  for (const [place, requestCount] of [
    ['answer_claimed', 0],
    ['answer_called', 1],
  ] as const) {
    it(`comes from a second call after a kill at ${place}, without a charge for the lost call`, async () => {
      const { question, signal, remains } = sceneOf(place);
      expect(signal).to.equal('SIGKILL');
      expect(remains).to.include({ log: '', requestCount });
      expect(remains.row).to.include({ status: 'generating', callNo: 1, begunAt: null });
      expect(remains.calls.map(({ outcome }) => outcome)).to.deep.equal([null]);
      expect(await answerRow(question.answerId)).to.include({
        status: 'complete',
        content: answer.join(''),
        callNo: 2,
      });
      expect(await logOf(question.answerId)).to.equal(answer.join(''));
      expect(asks(place)).to.equal(requestCount + 1);
      const [abandoned, answered, ...more] = await callRows(question.answerId);
      expect(more).to.deep.equal([]);
      expect(abandoned).to.include({ outcome: 'abandoned', estimated: true });
      expect(Number(abandoned?.costMicros)).to.be.above(0);
      expect(answered).to.include({ outcome: 'answered', estimated: false });
      await expectChargedOnce(question, Number(answered?.costMicros));
    });
  }

  for (const place of ['answer_begun', 'answer_delta', 'answer_ending'] as const) {
    it(`fails with the received text after a kill at ${place}, and is charged once`, async () => {
      const { question, signal, remains } = sceneOf(place);
      expect(signal).to.equal('SIGKILL');
      expect(remains.row).to.include({ status: 'generating', callNo: 1 });
      expect(remains.row.begunAt).to.be.instanceOf(Date);
      expect(remains.requestCount).to.equal(1);
      expect(answer.join('').startsWith(remains.log)).to.equal(true);
      if (place === 'answer_begun') expect(remains.log).to.equal('');
      else expect(remains.log).not.to.equal('');
      expect((await monthOf(question.clubId)).reserved).to.be.oneOf([0, Number(reservedMicros)]);
      expect(await answerRow(question.answerId)).to.include({
        status: 'failed',
        errorCode: 'interrupted',
        content: remains.log,
        callNo: 1,
      });
      expect(await logOf(question.answerId)).to.equal(remains.log);
      expect(asks(place)).to.equal(1);
      const [call, ...more] = await callRows(question.answerId);
      expect(more).to.deep.equal([]);
      expect(call).to.include({ outcome: 'failed', errorCode: 'interrupted', estimated: true });
      expect(call?.inputTokens).to.be.above(0);
      await expectChargedOnce(question, Number(call?.costMicros));
      expect(Number(call?.costMicros)).to.be.above(0);
    });
  }

  it('does not change after a kill at answer_ended', async () => {
    const { question, signal, remains } = sceneOf('answer_ended');
    expect(signal).to.equal('SIGKILL');
    expect(remains.row).to.include({ status: 'complete', content: answer.join('') });
    expect(await answerRow(question.answerId)).to.deep.equal(remains.row);
    expect(await callRows(question.answerId)).to.deep.equal(remains.calls);
    expect(asks('answer_ended')).to.equal(1);
    await expectChargedOnce(question, Number(remains.calls[0]?.costMicros));
  });
});
