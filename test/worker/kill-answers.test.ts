/** Workers that die over an answer, between any two lines of it, and another that finds what they left. */
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
  /** What the killed worker has left behind. */
  left: { row: AgentAnswer; calls: AgentCall[]; log: string; asked: number };
}

describe('a worker is killed during an answer', function () {
  this.timeout(300 * second);
  const startWorker = useWorkerProcesses('agents');
  const scenes = new Map<Place, Scene>();
  let model: FakeModel;

  const asks = (place: Place) =>
    model.requests.filter(({ body }) => JSON.stringify(body).includes(`At ${place}`)).length;
  const environment = () => ({ ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: model.url });

  before('each place in turn, and then a worker that lives', async function () {
    this.timeout(240 * second);
    model = await startFakeModel();
    model.rule((_, asked): Script => ({ answer, ...(asked.includes('At answer_delta') && { delayMs: 500 }) }));
    for (const place of places) scenes.set(place, await killedAt(place));
    const source = await testDatabase();
    await startWorker(environment());
    const { db } = await testDeps();
    const left = [...scenes.values()].map(({ question }) => question);
    await source.query(`UPDATE wakes SET lease_until = NULL`);
    // However long the workers took to start, their two minutes are not over.
    await source.query(
      `UPDATE agent_answers SET lease_until = clock_timestamp(), created_at = clock_timestamp() WHERE lease_until IS NOT NULL`,
    );
    await db.transaction((tx) => wake(tx, 'agentAnswer', left, new Date()));
    // An activity that died with its worker is given to another when its heartbeat has been missing for 10 s.
    await until('the end of all', { timeoutMs: 60 * second }, async () => {
      const rows = await Promise.all(left.map(({ answerId }) => answerRow(answerId)));
      return rows.every(({ status }) => status !== 'generating');
    });
  });
  after('stop the model', () => model.stop());

  async function killedAt(place: Place): Promise<Scene> {
    const worker = await startWorker({ ...environment(), FAILPOINT: place });
    const question = await buildQuestion({ content: `At ${place}`, woken: true });
    const { signal } = await worker.exited;
    const { answerId } = question;
    const left = {
      row: await answerRow(answerId),
      calls: await callRows(answerId),
      log: await logOf(answerId),
      asked: asks(place),
    };
    // The next of these workers is to die over its own.
    await (
      await testDatabase()
    ).query(
      `UPDATE agent_answers SET lease_until = clock_timestamp() + interval '1 hour' WHERE id = $1 AND status = 'generating'`,
      [answerId],
    );
    return { question, signal, left };
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

  for (const [place, asked] of [
    ['answer_claimed', 0],
    ['answer_called', 1],
  ] as const) {
    it(`${place}: not begun, so another worker asks again; the club does not pay the lost call`, async () => {
      const { question, signal, left } = sceneOf(place);
      expect(signal).to.equal('SIGKILL');
      expect(left).to.include({ log: '', asked });
      expect(left.row).to.include({ status: 'generating', callNo: 1, begunAt: null });
      expect(left.calls.map(({ outcome }) => outcome)).to.deep.equal([null]);
      expect(await answerRow(question.answerId)).to.include({
        status: 'complete',
        content: answer.join(''),
        callNo: 2,
      });
      expect(await logOf(question.answerId)).to.equal(answer.join(''));
      expect(asks(place)).to.equal(asked + 1);
      const [abandoned, answered, ...more] = await callRows(question.answerId);
      expect(more).to.deep.equal([]);
      expect(abandoned).to.include({ outcome: 'abandoned', estimated: true });
      expect(Number(abandoned?.costMicros)).to.be.above(0);
      expect(answered).to.include({ outcome: 'answered', estimated: false });
      await expectChargedOnce(question, Number(answered?.costMicros));
    });
  }

  for (const place of ['answer_begun', 'answer_delta', 'answer_ending'] as const) {
    it(`${place}: begun, so nobody asks again; fails with the text of its log, charged once`, async () => {
      const { question, signal, left } = sceneOf(place);
      expect(signal).to.equal('SIGKILL');
      expect(left.row).to.include({ status: 'generating', callNo: 1 });
      expect(left.row.begunAt).to.be.instanceOf(Date);
      expect(left.asked).to.equal(1);
      expect(answer.join('').startsWith(left.log)).to.equal(true);
      if (place === 'answer_begun') expect(left.log).to.equal('');
      else expect(left.log).not.to.equal('');
      expect((await monthOf(question.clubId)).reserved).to.be.oneOf([0, Number(reservedMicros)]);
      expect(await answerRow(question.answerId)).to.include({
        status: 'failed',
        errorCode: 'interrupted',
        content: left.log,
        callNo: 1,
      });
      expect(await logOf(question.answerId)).to.equal(left.log);
      expect(asks(place)).to.equal(1);
      const [call, ...more] = await callRows(question.answerId);
      expect(more).to.deep.equal([]);
      expect(call).to.include({ outcome: 'failed', errorCode: 'interrupted', estimated: true });
      expect(call?.inputTokens).to.be.above(0);
      await expectChargedOnce(question, Number(call?.costMicros));
      expect(Number(call?.costMicros)).to.be.above(0);
    });
  }

  it('answer_ended: complete, so another worker changes nothing', async () => {
    const { question, signal, left } = sceneOf('answer_ended');
    expect(signal).to.equal('SIGKILL');
    expect(left.row).to.include({ status: 'complete', content: answer.join('') });
    expect(await answerRow(question.answerId)).to.deep.equal(left.row);
    expect(await callRows(question.answerId)).to.deep.equal(left.calls);
    expect(asks('answer_ended')).to.equal(1);
    await expectChargedOnce(question, Number(left.calls[0]?.costMicros));
  });
});
