/** Tests answers if their stream breaks off, stops sending or never ends. */
import { expect } from 'chai';
import type { Script } from '../../../../dev/fake-model/script.ts';
import { answerRow, callRows, expectSettled, logOf } from '../../../toolkit/assert/answers.ts';
import { buildQuestion } from '../../../toolkit/builders/questions.ts';
import { useAnswering } from '../../../toolkit/drive/answering.ts';

describe('the step of an answer whose stream has begun', function () {
  this.timeout(20_000);
  const { answer, model, step } = useAnswering();

  /** The stream has nine events: message_start, block start, ping, three deltas, block stop, message_delta, message_stop. */
  const deltas = ['One ', 'two ', 'three'];
  const textAfter = (events: number) => deltas.slice(0, Math.max(0, Math.min(events - 3, 3))).join('');

  const breaks: Record<string, (after: number) => Script> = {
    'a cut of the connection': (after) => ({ cutAfter: after }),
    'a cut inside the next event': (after) => ({ cutAfter: after, cutInside: true }),
    'a normal end of the response without the last events': (after) => ({ endAfter: after }),
    'an error event': (after) => ({ errorAfter: after }),
    'an unknown error event': (after) => ({ errorAfter: after, errorType: 'strange' }),
  };
  for (const [how, script] of Object.entries(breaks))
    for (let after = 1; after <= 8; after++)
      it(`fails, keeps the received words and charges one call if ${how} follows event ${after}`, async () => {
        const { question } = await answer({ answer: deltas, ...script(after) });
        expect(await answerRow(question.answerId)).to.include({
          status: 'failed',
          errorCode: 'interrupted',
          content: textAfter(after),
          callNo: 1,
        });
        expect(await logOf(question.answerId)).to.equal(textAfter(after));
        const [call, ...others] = await callRows(question.answerId);
        expect(others).to.deep.equal([]);
        expect(call).to.include({ outcome: 'failed', errorCode: 'interrupted', estimated: after < 8 });
        expect(call?.inputTokens).to.be.above(0);
        expect(call?.outputTokens).to.be.at.least(Math.ceil(textAfter(after).length / 4));
        await expectSettled(question, Number(call?.costMicros));
        await step(question.questionId);
        expect(model().requests).to.have.length(1);
      });

  for (let after = 1; after <= 8; after++)
    it(`fails with model_silent and keeps the received words if the stream is silent after event ${after}`, async () => {
      const { question } = await answer({ answer: deltas, silentAfter: after }, { patience: { silenceMs: 150 } });
      const ended = { status: 'failed', errorCode: 'model_silent', content: textAfter(after) };
      expect(await answerRow(question.answerId)).to.include(ended);
      expect(model().closedByClient()).to.equal(1);
    });

  it('completes if the connection is cut after the last event', async () => {
    const { question } = await answer({ answer: deltas, cutAfter: 9 });
    expect(await answerRow(question.answerId)).to.include({ status: 'complete', content: 'One two three' });
  });

  it('counts pings as activity only for a limited time', async () => {
    const begunAt = performance.now();
    const script = { answer: deltas, silentAfter: 4, pingEveryMs: 30 };
    const { question } = await answer(script, { patience: { silenceMs: 800, pingsMs: 900 } });
    expect(performance.now() - begunAt).to.be.at.least(890);
    expect(await answerRow(question.answerId)).to.include({ errorCode: 'model_silent', content: 'One ' });
  });

  it('ends a request that takes too long, even if words still arrive', async () => {
    const endless = { answer: Array.from({ length: 100 }, () => 'x'), delayMs: 50 };
    const { question } = await answer(endless, { patience: { requestMs: 1_000 } });
    const { status, errorCode, content } = await answerRow(question.answerId);
    expect([status, errorCode]).to.deep.equal(['failed', 'interrupted']);
    expect(content.length).to.be.within(1, 99);
  });

  it('fails and keeps the received words when the worker stops during the stream', async () => {
    const stopping = new AbortController();
    const failpoint = async (name: string) => {
      if (name === 'answer_delta') setTimeout(() => stopping.abort(), 50);
    };
    const script = { answer: ['One ', 'two'], silentAfter: 4 };
    const { question } = await answer(script, { signal: stopping.signal, failpoint });
    const ended = { status: 'failed', errorCode: 'interrupted', content: 'One ' };
    expect(await answerRow(question.answerId)).to.include(ended);
  });

  it('charges a broken stream for at most the maximum number of tokens of an answer', async () => {
    // The text has four characters per token, but the estimate assumes three.
    const script = { answer: Array.from({ length: 20 }, () => 'words '), delayMs: 5, cutAfter: 22 };
    const { question } = await answer(script, { question: await buildQuestion({ maxTokens: 30 }) });
    const [call] = await callRows(question.answerId);
    expect(call).to.include({ estimated: true, outputTokens: 30 });
  });
});
