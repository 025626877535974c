import { expect } from 'chai';
import { costOf } from '../../../domain/agents/prices.policy.ts';
import { passagesOf, useAnswering } from '../../toolkit/drive/answering.ts';
import { useStoppedClock } from '../../toolkit/fakes/timers.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';
import {
  answerRow,
  buildConversation,
  buildQuestion,
  buildSource,
  callRows,
  chargeRow,
  citationRows,
  logOf,
  monthOf,
  reservedMicros,
  type TestQuestion,
} from '../../toolkit/builders/questions.ts';

describe('the step of an answer', function () {
  this.timeout(20_000);
  const answering = useAnswering();
  const { step } = answering;
  const model = () => answering.model();

  /** The answer ended and is settled: once, with what its last call says. */
  const expectSettled = async ({ answerId, clubId }: TestQuestion, cost: number) => {
    const charge = await chargeRow(answerId);
    expect(Number(charge.costMicros)).to.equal(cost);
    expect(charge.settledAt).to.be.instanceOf(Date);
    expect(await monthOf(clubId)).to.deep.equal({ spent: cost, reserved: 0 });
  };

  describe('streamed text completed', () => {
    it('complete: text, log, citations, call and charge stand, and the step reports numbers alone', async () => {
      const conversation = await buildConversation();
      const question = await buildQuestion({}, conversation);
      const id = await buildSource(conversation.clubId);
      const passages = passagesOf({ id }, [['One. ', 'Two. '], ['Three.']]);
      model().next({
        blocks: [
          { deltas: ['The pause ', 'is ', 'ten minutes.'], citations: [{ result: 0, start: 1, end: 3 }] },
          { deltas: [' Ask \u{1F98A}.'] },
        ],
      });
      const outcome = await step(question.questionId, { passages });
      const text = 'The pause is ten minutes. Ask \u{1F98A}.';
      const row = await answerRow(question.answerId);
      expect(row).to.include({ status: 'complete', content: text, errorCode: null, callNo: 1, leaseUntil: null });
      expect(row.begunAt).to.be.instanceOf(Date);
      expect(row.completedAt).to.be.instanceOf(Date);
      expect(await logOf(question.answerId)).to.equal(text);
      const [citation, ...others] = await citationRows(question.answerId);
      expect(others).to.deep.equal([]);
      expect(citation).to.include({
        citedText: 'Two. Three.',
        sourceId: id,
        sourceKind: 'media',
        sourceTitle: 'Handbook',
        pageFrom: 1,
        pageTo: 2,
      });
      const [call, ...further] = await callRows(question.answerId);
      expect(further).to.deep.equal([]);
      expect(call).to.include({ callNo: 1, outcome: 'answered', errorCode: null, estimated: false });
      expect(call?.requestId).to.equal(model().requests[0]?.id);
      const use = {
        input: call?.inputTokens ?? 0,
        output: call?.outputTokens ?? 0,
        cacheWrite: call?.cacheWriteTokens ?? 0,
        cacheRead: call?.cacheReadTokens ?? 0,
      };
      const cost = Number(costOf('claude-sonnet-5-5', use, new Date()));
      expect(cost).to.be.above(0);
      expect(Number(call?.costMicros)).to.equal(cost);
      await expectSettled(question, cost);
      const report = {
        status: 'complete',
        model: 'claude-sonnet-5-5',
        calls: 1,
        input_tokens: use.input,
        output_tokens: use.output,
        cache_write_tokens: use.cacheWrite,
        cache_read_tokens: use.cacheRead,
        cost_micros: cost,
        abandoned_micros: 0,
      };
      expect(outcome).to.deep.equal({ done: true, outcome: report });
      expect(answering.ended).to.deep.equal([report]);
      expect(answering.rings()).to.be.at.least(2);
    });

    it('a further step finds it ended: nobody is asked, nothing is charged, nothing is told again', async () => {
      const question = await buildQuestion();
      const first = await step(question.questionId);
      const before = await monthOf(question.clubId);
      expect(await step(question.questionId)).to.deep.equal(first);
      expect(model().requests).to.have.length(1);
      expect(answering.ended).to.have.length(1);
      expect(await monthOf(question.clubId)).to.deep.equal(before);
    });

    for (const [stopReason, status] of [
      ['end_turn', 'complete'],
      ['stop_sequence', 'complete'],
      ['max_tokens', 'truncated'],
      ['model_context_window_exceeded', 'truncated'],
      ['refusal', 'refused'],
      ['tool_use', 'failed'],
      ['pause_turn', 'failed'],
    ] as const) {
      it(`${stopReason}: ${status}, with what was said`, async () => {
        const question = await buildQuestion();
        model().next({ answer: ['Some ', 'words'], stopReason });
        const outcome = await step(question.questionId);
        expect(outcome).to.have.nested.property('outcome.status', status);
        const row = await answerRow(question.answerId);
        expect(row).to.include({
          status,
          content: 'Some words',
          errorCode: status === 'failed' ? 'internal_error' : null,
        });
        expect(await logOf(question.answerId)).to.equal('Some words');
        const [call] = await callRows(question.answerId);
        expect(call).to.include({ outcome: status === 'failed' ? 'failed' : 'answered', estimated: false });
        await expectSettled(question, Number(call?.costMicros));
      });
    }

    it('the size cap: the agent’s as it was when the question came, and the answer is truncated', async () => {
      const question = await buildQuestion({ maxTokens: 2 });
      model().next({ answer: ['12345678', '9'] });
      await step(question.questionId);
      expect(await answerRow(question.answerId)).to.include({ status: 'truncated', content: '12345678' });
    });

    it('no word at all is an answer too', async () => {
      const question = await buildQuestion();
      model().next({ answer: [] });
      await step(question.questionId);
      expect(await answerRow(question.answerId)).to.include({ status: 'complete', content: '' });
      expect(await logOf(question.answerId)).to.equal('');
    });
  });

  describe('the stream breaks off after it began', () => {
    /** message_start, block start, ping, three deltas, block stop, message_delta, message_stop. */
    const answer = ['One ', 'two ', 'three'];
    const said = (events: number) => answer.slice(0, Math.max(0, Math.min(events - 3, 3))).join('');
    const ways = [
      { way: 'cut', script: (after: number) => ({ cutAfter: after }) },
      { way: 'cut inside the next', script: (after: number) => ({ cutAfter: after, cutInside: true }) },
      { way: 'ended in order', script: (after: number) => ({ endAfter: after }) },
      { way: 'an error event', script: (after: number) => ({ errorAfter: after }) },
      { way: 'an unknown error event', script: (after: number) => ({ errorAfter: after, errorType: 'strange' }) },
    ];
    for (const { way, script } of ways) {
      for (let after = 1; after <= 8; after++) {
        it(`${way} after event ${after}: failed, with what was said, charged once, never asked again`, async () => {
          const question = await buildQuestion();
          model().next({ answer, ...script(after) });
          await step(question.questionId);
          const row = await answerRow(question.answerId);
          expect(row).to.include({ status: 'failed', errorCode: 'interrupted', content: said(after), callNo: 1 });
          expect(await logOf(question.answerId)).to.equal(said(after));
          const [call, ...others] = await callRows(question.answerId);
          expect(others).to.deep.equal([]);
          expect(call).to.include({ outcome: 'failed', errorCode: 'interrupted', estimated: after < 8 });
          expect(call?.inputTokens).to.be.above(0);
          expect(call?.outputTokens).to.be.at.least(Math.ceil(said(after).length / 4));
          await expectSettled(question, Number(call?.costMicros));
          await step(question.questionId);
          expect(model().requests).to.have.length(1);
        });
      }
    }

    it('after its last event it is whole, however the connection ends', async () => {
      const question = await buildQuestion();
      model().next({ answer, cutAfter: 9 });
      await step(question.questionId);
      expect(await answerRow(question.answerId)).to.include({ status: 'complete', content: 'One two three' });
    });

    for (let after = 1; after <= 8; after++) {
      it(`silence after event ${after}: model_silent, with what was said`, async () => {
        const question = await buildQuestion();
        model().next({ answer, silentAfter: after });
        await step(question.questionId, { patience: { silenceMs: 150 } });
        expect(await answerRow(question.answerId)).to.include({
          status: 'failed',
          errorCode: 'model_silent',
          content: said(after),
        });
        expect(model().closedByClient()).to.equal(1);
      });
    }

    it('pings keep a stream alive for a while, and no longer', async () => {
      const question = await buildQuestion();
      model().next({ answer, silentAfter: 4, pingEveryMs: 30 });
      const begunAt = performance.now();
      await step(question.questionId, { patience: { silenceMs: 300, pingsMs: 900 } });
      expect(performance.now() - begunAt).to.be.at.least(890);
      expect(await answerRow(question.answerId)).to.include({ errorCode: 'model_silent', content: 'One ' });
    });

    it('a request has an end, however much is said', async () => {
      const question = await buildQuestion();
      model().next({ answer: Array.from({ length: 100 }, () => 'x'), delayMs: 50 });
      await step(question.questionId, { patience: { requestMs: 400 } });
      const { status, errorCode, content } = await answerRow(question.answerId);
      expect([status, errorCode]).to.deep.equal(['failed', 'interrupted']);
      expect(content.length).to.be.within(1, 20);
    });
  });

  describe('the model fails before its stream began', () => {
    useStoppedClock();
    const second = 1_000;
    const refused = (refuse: 429 | 500 | 529, retryAfterS?: number) => ({
      refuse,
      ...(retryAfterS !== undefined && { retryAfterS }),
    });
    for (const { name, script, code } of [
      { name: '429', script: refused(429), code: 'model_overloaded' },
      { name: '529', script: refused(529), code: 'model_overloaded' },
      { name: '500', script: refused(500), code: 'model_unavailable' },
      { name: 'a connection that is cut', script: { drop: true }, code: 'model_unavailable' },
      { name: 'a cut after the status', script: { cutAfter: 0 }, code: 'model_unavailable' },
      { name: 'an end after the status', script: { endAfter: 0 }, code: 'model_unavailable' },
      { name: 'an overload as the first event', script: { errorAfter: 0 }, code: 'model_overloaded' },
    ] as const) {
      it(`${name}: asked again after 1 s and 4 s, three times in all, then ${code}; nothing is charged`, async () => {
        const question = await buildQuestion();
        model().next(script, script, script);
        let now = Date.now();
        for (const [call, wait] of [
          [2, second],
          [3, 4 * second],
        ] as const) {
          const waiting = await step(question.questionId, { now });
          if (waiting.done) throw new Error('It has ended.');
          expect(waiting).to.include({ waitingFor: 'call', call });
          expect(waiting.at - now).to.equal(wait);
          expect(await step(question.questionId, { now: waiting.at - 1 })).to.deep.equal(waiting);
          now = waiting.at;
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
    }

    it('overloaded once, then answered: charged for the second call alone', async () => {
      const question = await buildQuestion();
      model().next({ refuse: 529 }, { answer: ['Yes.'] });
      const waiting = await step(question.questionId);
      await step(question.questionId, { now: waiting.done ? 0 : waiting.at });
      expect(await answerRow(question.answerId)).to.include({ status: 'complete', content: 'Yes.', callNo: 2 });
      const calls = await callRows(question.answerId);
      expect(calls.map(({ outcome }) => outcome)).to.deep.equal(['failed', 'answered']);
      await expectSettled(question, Number(calls[1]?.costMicros));
    });

    it('retry-after lengthens the wait', async () => {
      const question = await buildQuestion();
      model().next(refused(429, 30));
      const now = Date.now();
      const waiting = await step(question.questionId, { now });
      expect((waiting.done ? 0 : waiting.at) - now).to.equal(30 * second);
    });

    it('retry-after beyond the two minutes: failed at once, for nobody would ask in time', async () => {
      const question = await buildQuestion();
      model().next(refused(429, 121));
      expect(await step(question.questionId)).to.have.nested.property('outcome.error_code', 'model_overloaded');
      await expectSettled(question, 0);
    });

    for (const refuse of [400, 401, 403, 404, 413] as const) {
      it(`${refuse}: model_rejected at once`, async () => {
        const question = await buildQuestion();
        model().next({ refuse });
        expect(await step(question.questionId)).to.have.nested.property('outcome.error_code', 'model_rejected');
        expect(model().requests).to.have.length(1);
        const [call] = await callRows(question.answerId);
        expect(call).to.include({ outcome: 'failed', errorCode: 'model_rejected', costMicros: '0' });
        await expectSettled(question, 0);
      });
    }

    it('nobody listens: asked again, by and by', async () => {
      const question = await buildQuestion();
      const waiting = await step(question.questionId, { baseUrl: 'http://127.0.0.1:9' });
      expect(waiting).to.include({ done: false, waitingFor: 'call', call: 2 });
    });

    it('silence instead of an answer: the call is abandoned, its estimated cost is the operator’s', async () => {
      const question = await buildQuestion();
      model().next({ neverAnswer: true }, { answer: ['Yes.'] });
      const waiting = await step(question.questionId, { patience: { silenceMs: 150 } });
      await step(question.questionId, { now: waiting.done ? 0 : waiting.at });
      const [abandoned, answered] = await callRows(question.answerId);
      expect(abandoned).to.include({ outcome: 'abandoned', estimated: true, errorCode: 'model_unavailable' });
      expect(Number(abandoned?.costMicros)).to.be.above(0);
      await expectSettled(question, Number(answered?.costMicros));
      expect(answering.ended[0]).to.include({ abandoned_micros: Number(abandoned?.costMicros), calls: 2 });
    });

    it('an answer that has not begun after two minutes fails unasked', async () => {
      const now = Date.now();
      const question = await buildQuestion({ acceptedAt: new Date(now - 120 * second) });
      expect(await step(question.questionId, { now })).to.have.nested.property(
        'outcome.error_code',
        'model_unavailable',
      );
      expect(model().requests).to.have.length(0);
      expect(await answerRow(question.answerId)).to.include({ status: 'failed', callNo: 0 });
      await expectSettled(question, 0);
    });

    it('a second before it is asked, and given up when the two minutes are over', async () => {
      const now = Date.now();
      const question = await buildQuestion({ acceptedAt: new Date(now - 119 * second) });
      model().next({ neverAnswer: true });
      expect(await step(question.questionId, { now })).to.have.nested.property(
        'outcome.error_code',
        'model_unavailable',
      );
      expect(model().requests).to.have.length(1);
      expect(model().closedByClient()).to.equal(1);
    });
  });

  describe('claims', () => {
    it('of two steps at once one asks, and the other waits for its lease', async () => {
      const question = await buildQuestion();
      const release = Promise.withResolvers<void>();
      const claimed = Promise.withResolvers<void>();
      const failpoint = async (name: string) => {
        if (name !== 'answer_claimed') return;
        claimed.resolve();
        await release.promise;
      };
      const begun = performance.now();
      const first = step(question.questionId, { failpoint });
      await claimed.promise;
      const now = Date.now();
      const second = await step(question.questionId, { now });
      expect(second).to.include({ done: false, waitingFor: 'lease' });
      // The lease is of 20 s, by the database's clock; it has run since the claim.
      const mostPassed = Math.ceil(performance.now() - begun);
      expect((second.done ? 0 : second.at) - now).to.be.within(20_000 - mostPassed, 20_000);
      release.resolve();
      expect(await first).to.include({ done: true });
      expect(model().requests).to.have.length(1);
    });

    it('of ten at the same moment one asks', async () => {
      const question = await buildQuestion();
      await Promise.all(Array.from({ length: 10 }, () => step(question.questionId)));
      expect(model().requests).to.have.length(1);
      expect((await callRows(question.answerId)).map(({ outcome }) => outcome)).to.deep.equal(['answered']);
      expect(answering.ended).to.have.length(1);
    });

    it('the call is committed before the request is made', async () => {
      const question = await buildQuestion();
      let atTheModel: unknown;
      const platform = await answering.platform();
      const { askModel } = platform;
      if (!askModel) throw new Error('It is configured.');
      const { stepAnswer } = await import('../../../domain/agents/answer-step.ts');
      await stepAnswer(
        {
          ...platform,
          async *askModel(request, signal) {
            const source = await testDatabase();
            [atTheModel] = await source.query<unknown[]>(
              `SELECT call_no, outcome, estimated FROM agent_calls WHERE answer_id = $1`,
              [question.answerId],
            );
            yield* askModel(request, signal);
          },
        },
        question.questionId,
        Date.now(),
        new AbortController().signal,
      );
      expect(atTheModel).to.deep.equal({ call_no: 1, outcome: null, estimated: true });
    });

    it('the worker stops before the stream began: let go at once, and asked by another', async () => {
      const question = await buildQuestion();
      model().next({ neverAnswer: true });
      const stopping = new AbortController();
      const stopped = step(question.questionId, { signal: stopping.signal });
      await model().waitFor(1, 5_000);
      stopping.abort();
      expect(await stopped).to.include({ done: false, waitingFor: 'call', call: 2 });
      await step(question.questionId);
      expect(await answerRow(question.answerId)).to.include({ status: 'complete', callNo: 2 });
      expect((await callRows(question.answerId)).map(({ outcome }) => outcome)).to.deep.equal([
        'abandoned',
        'answered',
      ]);
    });

    it('the worker stops in the middle: failed at once, with what was said', async () => {
      const question = await buildQuestion();
      model().next({ answer: ['One ', 'two'], silentAfter: 4 });
      const stopping = new AbortController();
      const failpoint = async (name: string) => {
        if (name === 'answer_delta') setTimeout(() => stopping.abort(), 50);
      };
      await step(question.questionId, { signal: stopping.signal, failpoint });
      expect(await answerRow(question.answerId)).to.include({
        status: 'failed',
        errorCode: 'interrupted',
        content: 'One ',
      });
    });

    it('what a stream that was cut has said is not charged above the size cap', async () => {
      const question = await buildQuestion({ maxTokens: 30 });
      // Four characters a token, as English has them, where an estimate reckons with three.
      model().next({ answer: Array.from({ length: 20 }, () => 'words '), delayMs: 5, cutAfter: 22 });
      await step(question.questionId);
      const [call] = await callRows(question.answerId);
      expect(call).to.include({ estimated: true, outputTokens: 30 });
    });

    it('nothing is left of the question: the run ends', async () => {
      expect(await step('00000000-0000-4000-8000-000000000000')).to.deep.equal({
        done: true,
        outcome: { status: 'gone' },
      });
    });
  });

  it('what is reserved is given back', async () => {
    const question = await buildQuestion();
    expect(await monthOf(question.clubId)).to.deep.equal({ spent: 0, reserved: Number(reservedMicros) });
    await step(question.questionId);
    expect((await monthOf(question.clubId)).reserved).to.equal(0);
  });
});
