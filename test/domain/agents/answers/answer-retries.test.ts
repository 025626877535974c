/** Tests answers if their model call fails before the stream begins. */
import { expect } from 'chai';
import type { Script } from '../../../../dev/fake-model/script.ts';
import type { AnswerStep } from '../../../../domain/agents/answers/answer-step.ts';
import { answerRow, callRows, expectSettled } from '../../../toolkit/assert/answers.ts';
import { buildQuestion } from '../../../toolkit/builders/questions.ts';
import { useAnswering } from '../../../toolkit/drive/answering.ts';
import { useStoppedClock } from '../../../toolkit/fakes/timers.ts';

const second = 1_000;
const yes: Script = { answer: ['Yes.'] };

function dueAt(waiting: AnswerStep): number {
  if (waiting.done) throw new Error('The answer has ended');
  return waiting.at;
}

describe('the step of an answer whose stream has not begun', function () {
  this.timeout(20_000);
  const answering = useAnswering();
  const { answer, model, step } = answering;
  useStoppedClock();

  for (const [what, script, code] of [
    ['the status 429', { refuse: 429 }, 'model_overloaded'],
    ['the status 529', { refuse: 529 }, 'model_overloaded'],
    ['the status 500', { refuse: 500 }, 'model_unavailable'],
    ['a connection that is cut', { drop: true }, 'model_unavailable'],
    ['a connection that is cut after the status', { cutAfter: 0 }, 'model_unavailable'],
    ['a response that ends after the status', { endAfter: 0 }, 'model_unavailable'],
    ['an overload error as the first event', { errorAfter: 0 }, 'model_overloaded'],
  ] as const)
    it(`calls again 1 s and 4 s after ${what}, then fails with ${code}, without a charge`, async () => {
      let now = Date.now();
      let { question, step: waiting } = await answer([script, script, script], { now });
      for (const [call, wait] of [
        [2, second],
        [3, 4 * second],
      ] as const) {
        if (call > 2) waiting = await step(question.questionId, { now });
        expect(waiting).to.include({ done: false, waitingFor: 'call', call });
        expect(dueAt(waiting) - now).to.equal(wait);
        expect(await step(question.questionId, { now: dueAt(waiting) - 1 })).to.deep.equal(waiting);
        now = dueAt(waiting);
      }
      expect(await step(question.questionId, { now })).to.have.nested.property('outcome.error_code', code);
      expect(model().requests).to.have.length(3);
      const row = await answerRow(question.answerId);
      expect(row).to.include({ status: 'failed', errorCode: code, content: '', callNo: 3, begunAt: null });
      const calls = await callRows(question.answerId);
      expect(calls.map(({ outcome, errorCode, costMicros }) => [outcome, errorCode, costMicros])).to.deep.equal(
        [1, 2, 3].map(() => ['failed', code, '0']),
      );
      await expectSettled(question, 0);
    });

  it('charges only the call that succeeds after an overload', async () => {
    const { question, step: waiting } = await answer([{ refuse: 529 }, yes]);
    await step(question.questionId, { now: dueAt(waiting) });
    expect(await answerRow(question.answerId)).to.include({ status: 'complete', content: 'Yes.', callNo: 2 });
    const calls = await callRows(question.answerId);
    expect(calls.map(({ outcome }) => outcome)).to.deep.equal(['failed', 'answered']);
    await expectSettled(question, Number(calls[1]?.costMicros));
  });

  it('waits as long as the Retry-After header says', async () => {
    const now = Date.now();
    const { step: waiting } = await answer({ refuse: 429, retryAfterS: 30 }, { now });
    expect(dueAt(waiting) - now).to.equal(30 * second);
  });

  it('fails immediately if Retry-After exceeds the limit of two minutes', async () => {
    const { question, step: ended } = await answer({ refuse: 429, retryAfterS: 121 });
    expect(ended).to.have.nested.property('outcome.error_code', 'model_overloaded');
    await expectSettled(question, 0);
  });

  for (const refuse of [400, 401, 403, 404, 413] as const)
    it(`fails immediately with model_rejected, without a charge, after the status ${refuse}`, async () => {
      const { question, step: ended } = await answer({ refuse });
      expect(ended).to.have.nested.property('outcome.error_code', 'model_rejected');
      expect(model().requests).to.have.length(1);
      const [call] = await callRows(question.answerId);
      expect(call).to.include({ outcome: 'failed', errorCode: 'model_rejected', costMicros: '0' });
      await expectSettled(question, 0);
    });

  it('calls again when no server listens at the model’s address', async () => {
    const { step: waiting } = await answer([], { baseUrl: 'http://127.0.0.1:9' });
    expect(waiting).to.include({ done: false, waitingFor: 'call', call: 2 });
  });

  it('calls again, without a charge, if a call gets no response', async () => {
    const patience = { silenceMs: 150 };
    const { question, step: waiting } = await answer([{ neverAnswer: true }, yes], { patience });
    await step(question.questionId, { now: dueAt(waiting) });
    const [abandoned, answered] = await callRows(question.answerId);
    expect(abandoned).to.include({ outcome: 'abandoned', estimated: true, errorCode: 'model_unavailable' });
    expect(Number(abandoned?.costMicros)).to.be.above(0);
    await expectSettled(question, Number(answered?.costMicros));
    expect(answering.ended[0]).to.include({ abandoned_micros: Number(abandoned?.costMicros), calls: 2 });
  });

  it('fails without a call two minutes after the question', async () => {
    const now = Date.now();
    const old = await buildQuestion({ acceptedAt: new Date(now - 120 * second) });
    const { step: ended } = await answer([], { question: old, now });
    expect(ended).to.have.nested.property('outcome.error_code', 'model_unavailable');
    expect(model().requests).to.have.length(0);
    expect(await answerRow(old.answerId)).to.include({ status: 'failed', callNo: 0 });
    await expectSettled(old, 0);
  });

  it('calls again until two minutes have passed, and then fails', async () => {
    const now = Date.now();
    const old = await buildQuestion({ acceptedAt: new Date(now - 119 * second) });
    const { step: ended } = await answer({ neverAnswer: true }, { question: old, now });
    expect(ended).to.have.nested.property('outcome.error_code', 'model_unavailable');
    expect(model().requests).to.have.length(1);
    expect(model().closedByClient()).to.equal(1);
  });

  it('releases the answer when the worker stops, so that another worker can call', async () => {
    const question = await buildQuestion();
    const stopping = new AbortController();
    const stopped = answer({ neverAnswer: true }, { question, signal: stopping.signal });
    await model().waitFor(1, 5_000);
    stopping.abort();
    expect((await stopped).step).to.include({ done: false, waitingFor: 'call', call: 2 });
    await step(question.questionId);
    expect(await answerRow(question.answerId)).to.include({ status: 'complete', callNo: 2 });
    const calls = await callRows(question.answerId);
    expect(calls.map(({ outcome }) => outcome)).to.deep.equal(['abandoned', 'answered']);
  });
});
